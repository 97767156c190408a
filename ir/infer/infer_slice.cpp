// Result shapes of operations that move data: slices, pads, concatenations, transposes, reshapes.
#include <algorithm>

#include "ir/infer/infer_rules.h"

namespace tilecast::ir::infer {
namespace {

// Checks the indices of dynamic-slice and dynamic-update-slice: one integer scalar per dimension,
// or (old form) one vector. `what` names the operation in messages.
void check_start_indices(const Site& site, std::size_t first, const Shape& operand,
                         std::string_view what) {
  const std::size_t indices = site.count() < first ? 0 : site.count() - first;
  if (indices == 1 && site.operand(first).is_array() && site.operand(first).rank() == 1) {
    const Shape& vector = site.operand(first);
    fail_if(!is_integer(vector.dtype), "{} start indices must be of integral type.", what);
    fail_if(vector.dims[0] != operand.rank(),
            "{} start number of dimensions {} ({}) must match rank {} of slice input ({}).", what,
            vector.dims[0], human(vector), operand.rank(), human(operand));
    return;
  }
  fail_if(indices != operand.dims.size(),
          "{} start number of dimensions {} must match rank {} of slice input ({}).", what, indices,
          operand.rank(), human(operand));
  for (std::size_t i = 0; i < indices; ++i) {
    const Shape& index = site.operand(first + i);
    fail_if(!index.is_scalar(), "{} indices must be scalar, not {}.", what, human(index));
    fail_if(!is_integer(index.dtype), "{} start indices must be of integral type.", what);
    fail_if(index.dtype != site.operand(first).dtype,
            "{} start indices must all have the same shape, got mismatching indices with shapes {} "
            "and {}.",
            what, human(site.operand(first)), human(index));
  }
}

std::int64_t slice_size(const Shape& operand, std::size_t dim, const SliceDim& range) {
  fail_if(range.start < 0, "Negative start index to slice: {}.", range.start);
  fail_if(range.limit > operand.dims[dim],
          "limit index ({}) must be less than or equal to dimension size ({}) in slice "
          "operation; argument shape: {}",
          range.limit, operand.dims[dim], human(operand));
  fail_if(range.start > range.limit,
          "limit index ({}) must be greater or equal to start index ({}) in slice with positive "
          "stride in slice operation; argument shape: {}",
          range.limit, range.start, human(operand));
  fail_if(range.stride <= 0, "Stride ({}) must be positive.", range.stride);
  const std::int64_t length = range.limit - range.start;
  return length / range.stride + (length % range.stride != 0 ? 1 : 0);
}

void check_concatenable(const Shape& first, const Shape& other, std::int64_t dimension) {
  expect_array(other, "operand of concatenation");
  fail_if(first.rank() != other.rank(),
          "Cannot concatenate arrays with different ranks: {} ({}) vs {} ({}).", first.rank(),
          human(first), other.rank(), human(other));
  fail_if(!same_type_ignoring_fp(first.dtype, other.dtype),
          "Cannot concatenate arrays with different element types: {} vs {}.",
          type_name(first.dtype), type_name(other.dtype));
  for (std::size_t i = 0; i < first.dims.size(); ++i) {
    fail_if(first.dims[i] != other.dims[i] && static_cast<std::int64_t>(i) != dimension,
            "Cannot concatenate arrays that differ in dimensions other than the one being "
            "concatenated. Dimension {} in both shapes must be equal: {} vs {}.",
            i, human(first), human(other));
  }
}

}  // namespace

Shape concatenate(const Site& site) {
  fail_if(site.count() == 0, "Concatenate expects at least one argument.");
  const Shape& first = site.operand(0);
  const std::int64_t dimension = site.single_dimension();
  expect_array(first, "operand of concatenation");
  fail_if(dimension < 0 || dimension >= first.rank(), "Concatenate dimension out of bounds: {}.",
          dimension);
  Shape result = array_like(first, first.dtype);
  auto& total = result.dims[static_cast<std::size_t>(dimension)];
  for (std::size_t i = 1; i < site.count(); ++i) {
    const Shape& other = site.operand(i);
    check_concatenable(first, other, dimension);
    total = checked_add(total, other.dims[static_cast<std::size_t>(dimension)]);
    result.dtype = higher_precision(result.dtype, other.dtype);
    result.dynamic_mask |= other.dynamic_mask;
  }
  return result;
}

Shape pad(const Site& site) {
  const Shape& operand = site.operand(0);
  const Shape& value = site.operand(1);
  const auto& config = site.attrs<PadAttrs>().dims;
  fail_if(!operand.is_array(), "Pad operation does not support tuple-shape operands.");
  fail_if(!value.is_scalar(), "Pad operation does not support non-scalar padding values.");
  fail_if(operand.dims.size() != config.size(),
          "The rank of the operand and the padding configuration do not match: {} vs {}.",
          human(operand), config.size());
  fail_if(!same_type_ignoring_fp(operand.dtype, value.dtype),
          "The element types of the operands to Pad do not match.");
  Shape result = array_like(operand, higher_precision(operand.dtype, value.dtype));
  for (std::size_t i = 0; i < config.size(); ++i) {
    const PadDim& dim = config[i];
    fail_if(dim.interior < 0, "Interior padding cannot be negative: {}", dim.interior);
    const std::int64_t gaps = std::max<std::int64_t>(operand.dims[i] - 1, 0);
    const std::int64_t edges = checked_add(dim.low, dim.high);
    result.dims[i] =
        checked_add(checked_add(operand.dims[i], edges), checked_multiply(gaps, dim.interior));
    fail_if(result.dims[i] < 0, "Padding result in negative size for dimension {}", i);
  }
  return result;
}

Shape slice(const Site& site) {
  const Shape& operand = site.operand(0);
  const auto& ranges = site.attrs<SliceAttrs>().dims;
  expect_array(operand, "operand of slice");
  fail_if(ranges.size() != operand.dims.size(),
          "Slice index count does not match argument rank: {} vs {}.", ranges.size(),
          operand.rank());
  Shape result = array_like(operand, operand.dtype);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    result.dims[i] = slice_size(operand, i, ranges[i]);
    if (result.dims[i] == 1) result.dynamic_mask &= ~(std::uint32_t{1} << i);
  }
  return result;
}

Shape dynamic_slice(const Site& site) {
  const Shape& operand = site.operand(0);
  const Dims& sizes = site.attrs<DynamicSliceAttrs>().sizes;
  expect_array(operand, "operand of dynamic slice");
  check_start_indices(site, 1, operand, "Dynamic slice");
  fail_if(sizes.size() != operand.dims.size(),
          "Dynamic slice index count does not match argument rank: {} vs {}.", sizes.size(),
          operand.rank());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    fail_if(sizes[i] < 0, "Negative size index to dynamic slice: {}.", sizes[i]);
    fail_if(sizes[i] > operand.dims[i],
            "Slice dim size {} greater than dynamic slice dimension: {}.", sizes[i],
            operand.dims[i]);
  }
  Shape result = array_like(operand, operand.dtype);
  result.dims = sizes;
  result.dynamic_mask = 0;
  return result;
}

Shape dynamic_update_slice(const Site& site) {
  const Shape& whole = site.operand(0);
  const bool in_buffer = whole.dtype == DType::kBuffer && whole.elements.size() == 1;
  const Shape& operand = in_buffer ? whole.elements[0] : whole;
  const Shape& update = site.operand(1);
  expect_array(operand, "operand of dynamic update slice");
  expect_array(update, "update of dynamic update slice");
  check_start_indices(site, 2, operand, "Dynamic update slice");
  fail_if(update.rank() != operand.rank(),
          "Dynamic update slice update rank does not match argument rank: {} vs {}.", update.rank(),
          operand.rank());
  fail_if(!same_type_ignoring_fp(operand.dtype, update.dtype),
          "Dynamic update slice update element type does not match argument. "
          "operand.element_type: {} vs update.element_type: {}.",
          type_name(operand.dtype), type_name(update.dtype));
  for (std::size_t i = 0; i < operand.dims.size(); ++i) {
    fail_if(update.dims[i] > operand.dims[i],
            "Update dim size {} greater than dynamic slice dimension: {}.", update.dims[i],
            operand.dims[i]);
  }
  return in_buffer ? whole : array_like(operand, operand.dtype);
}

Shape transpose(const Site& site) {
  const Shape& operand = site.operand(0);
  const Dims& order = site.instruction.dimensions;
  expect_array(operand, "transpose");
  fail_if(
      !is_permutation(order, operand.rank()),
      "Transpose dimensions [{}] are not a permutation of the operand dimensions (operand shape "
      "is {}).",
      join(order), human(operand));
  Shape result;
  result.dtype = operand.dtype;
  for (const std::int64_t dim : order) append_dim(result, operand, static_cast<int>(dim));
  return result;
}

Shape reverse(const Site& site) {
  const Shape& operand = site.operand(0);
  expect_array(operand, "operand of reverse");
  fail_if(!all_unique(site.instruction.dimensions), "a dimension number is duplicated in reverse");
  for (const std::int64_t dim : site.instruction.dimensions) {
    fail_if(dim < 0 || dim >= operand.rank(),
            "One of the reverse dimensions ({}) is out-of-bounds in shape {}.", dim,
            human(operand));
  }
  return array_like(operand, operand.dtype);
}

Shape get_dimension_size(const Site& site) {
  const Shape& operand = site.operand(0);
  const std::int64_t dim = site.single_dimension();
  fail_if(dim < 0 || dim >= operand.rank(), "GetDimensionSize dimension out of bounds: {}.", dim);
  fail_if(operand.dims[static_cast<std::size_t>(dim)] > INT32_MAX,
          "GetDimensionSize's input shape is {}, the {}th dimension exceeds the INT_MAX limit.",
          human(operand), dim);
  return Shape::array(DType::kS32, {});
}

Shape set_dimension_size(const Site& site) {
  const Shape& operand = site.operand(0);
  const Shape& size = site.operand(1);
  const std::int64_t dim = site.single_dimension();
  fail_if(dim < 0 || dim >= operand.rank(), "SetDimensionSize dimension out of bounds: {}.", dim);
  fail_if(!size.is_scalar() || size.dtype != DType::kS32,
          "SetDimensionSize's value has to be S32 scalar, got {}", human(size));
  fail_if(operand.dims[static_cast<std::size_t>(dim)] > INT32_MAX,
          "SetDimensionSize's input shape is {}, the {}th dimension exceeds the INT_MAX limit.",
          human(operand), dim);
  Shape result = array_like(operand, operand.dtype);
  // A constant equal to the bound would make the dimension static, so the text decides.
  result.set_dynamic(static_cast<int>(dim));
  return result;
}

void check_broadcast(const Site& site) {
  const Shape& operand = site.operand(0);
  const Shape& result = site.instruction.shape;
  const Dims& dimensions = site.instruction.dimensions;
  expect_array(operand, "operand of broadcast");
  expect_array(result, "result of broadcast");
  fail_if(!same_type_ignoring_fp(operand.dtype, result.dtype),
          "Broadcast cannot change the element type: {} to {}", human(operand), human(result));
  fail_if(dimensions.size() != operand.dims.size(),
          "Broadcast HLO ({}) has invalid number of dimensions: {} != {}", site.instruction.name,
          dimensions.size(), operand.rank());
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::int64_t to = dimensions[i];
    fail_if(to < 0 || to >= result.rank(), "Broadcast dimension {} is out of bound", to);
    fail_if(result.dims[static_cast<std::size_t>(to)] != operand.dims[i],
            "Broadcast dimension {} mismatch: {} != {}; {} and {}.", i, operand.dims[i],
            result.dims[static_cast<std::size_t>(to)], human(operand), human(result));
  }
}

void check_reshape(const Site& site) {
  const Shape& operand = site.operand(0);
  const Shape& result = site.instruction.shape;
  expect_array(operand, "reshape");
  expect_array(result, "result of reshape");
  fail_if(!same_type_ignoring_fp(operand.dtype, result.dtype),
          "Reshape cannot change the element type: {} to {}", human(operand), human(result));
  expect_same_elements(operand, result);
}

}  // namespace tilecast::ir::infer

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

Shape check_broadcast(const Site& site) {
  if (site.instruction.shape.dtype == DType::kInvalid) return {};
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
  return {};
}

Shape check_reshape(const Site& site) {
  if (site.instruction.shape.dtype == DType::kInvalid) return {};
  const Shape& operand = site.operand(0);
  const Shape& result = site.instruction.shape;
  expect_array(operand, "reshape");
  expect_array(result, "result of reshape");
  fail_if(!same_type_ignoring_fp(operand.dtype, result.dtype),
          "Reshape cannot change the element type: {} to {}", human(operand), human(result));
  expect_same_elements(operand, result);
  return {};
}

// Result shapes of gather and scatter.

namespace {

bool ascending(const Dims& dims) {
  return std::is_sorted(dims.begin(), dims.end());
}

void check_in_range(const Dims& dims, int rank, std::string_view what) {
  for (const std::int64_t dim : dims) {
    fail_if(dim < 0 || dim >= rank, "Invalid {}; valid range is [0, {}), got: {}.", what, rank,
            dim);
  }
}

// Checks that dimensions are sorted, unique and in [0, rank).
void check_window_dims(const Dims& dims, int rank, std::string_view name, std::string_view op) {
  for (const std::int64_t dim : dims) {
    fail_if(dim < 0 || dim >= rank, "Invalid {} set in {} op; valid range is [0, {}), got: {}.",
            name, op, rank, dim);
  }
  fail_if(!ascending(dims), "{} in {} op must be sorted; got: {}", name, op, join(dims));
  fail_if(!all_unique(dims),
          "Repeated dimensions not allowed in {} in {} op; {} in {} op must not repeat; got: {}.",
          name, op, name, op, join(dims));
}

// Indices with the index vector dimension made explicit: s32[5] with index_vector_dim=1 is [5,1].
Shape expanded_indices(const Shape& indices, std::int64_t vector_dim, std::string_view op) {
  Shape expanded = array_like(indices, indices.dtype);
  fail_if(vector_dim < 0 || vector_dim > indices.rank(),
          "{} index leaf dimension must be within [0, rank(indices) + 1). rank(indices) is {} and "
          "{} index leaf dimension is {}.",
          op, indices.rank(), op == "Gather" ? "gather" : "scatter", vector_dim);
  if (vector_dim == indices.rank()) expanded.dims.push_back(1);
  return expanded;
}

// Checks the map from index components to operand dimensions.
void check_index_map(const Dims& map, const Shape& indices, std::int64_t vector_dim, int rank,
                     std::string_view op, std::string_view name) {
  const std::int64_t bound = indices.dims[static_cast<std::size_t>(vector_dim)];
  fail_if(static_cast<std::int64_t>(map.size()) != bound,
          "{} op has {} elements in {} and the bound of dimension index_vector_dim={} of {} is {}. "
          "These two numbers must be equal.",
          op, map.size(), name, vector_dim, op == "Gather" ? "start_indices" : "scatter_indices",
          bound);
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (map[i] < 0 || map[i] >= rank) {
      fail("Invalid {}{}; domain is [0, {}), got: {}->{}.", name, op == "Gather" ? "" : " mapping",
           rank, i, map[i]);
    }
  }
  fail_if(!all_unique(map), "Repeated dimensions {}not allowed in {}; got: {}.",
          op == "Gather" ? "are " : "", name, join(map));
}

// Checks the batching dimensions, which pair operand dimensions with dimensions of the indices.
void check_batching(const Dims& operand_dims, const Dims& index_dims, const Shape& operand,
                    const Shape& indices, std::int64_t vector_dim, std::string_view op) {
  fail_if(operand_dims.size() != index_dims.size(),
          "{} op requires equal numbers of operand and indices batching dims; got {} and {}.", op,
          operand_dims.size(), index_dims.size());
  check_in_range(operand_dims, operand.rank(), "batching dims of operand");
  check_in_range(index_dims, indices.rank(), "batching dims of indices");
  fail_if(contains(index_dims, vector_dim),
          "{} op cannot have the index vector dimension as a batching dimension; got {}.", op,
          join(index_dims));
  for (std::size_t i = 0; i < operand_dims.size(); ++i) {
    const std::int64_t of_operand = operand.dims[static_cast<std::size_t>(operand_dims[i])];
    const std::int64_t of_indices = indices.dims[static_cast<std::size_t>(index_dims[i])];
    fail_if(of_operand != of_indices,
            "{} op requires the batching dimensions to have the same size; got {} and {}.", op,
            of_operand, of_indices);
  }
}

void check_disjoint(const Dims& dropped, const Dims& batching, std::string_view op) {
  Dims both = dropped;
  both.insert(both.end(), batching.begin(), batching.end());
  fail_if(!all_unique(both),
          "{} op requires each operand dimension at most once among dropped and batching "
          "dimensions; got {}.",
          op, join(both));
}

void check_slice_sizes(const GatherAttrs& attrs, const Shape& input) {
  const Dims& sizes = attrs.slice_sizes;
  fail_if(sizes.size() != input.dims.size(),
          "Gather op must have one slice size for every input dimension; got: len(slice_sizes)={}, "
          "input_shape.rank={}.",
          sizes.size(), input.rank());
  fail_if(sizes.size() != attrs.offset_dims.size() + attrs.collapsed_slice_dims.size() +
                              attrs.operand_batching_dims.size(),
          "All components of the offset index in a gather op must either be a offset dimension or "
          "explicitly collapsed; got len(slice_sizes)={}, output_slice_sizes={}, "
          "collapsed_slice_dims={}.",
          sizes.size(), join(attrs.offset_dims), join(attrs.collapsed_slice_dims));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > input.dims[i]) {
      fail("Slice size at index {} in gather op is out of range, must be within [0, {}), got {}.",
           i, input.dims[i] + 1, sizes[i]);
    }
  }
  for (const Dims* dropped : {&attrs.collapsed_slice_dims, &attrs.operand_batching_dims}) {
    for (std::size_t i = 0; i < dropped->size(); ++i) {
      const auto dim = static_cast<std::size_t>((*dropped)[i]);
      fail_if(sizes[dim] > 1,
              "Gather op can only collapse slice dims with bound 1 or 0, but bound is {} for index "
              "{} at position {}.",
              sizes[dim], dim, i);
    }
  }
}

void check_gather(const GatherAttrs& attrs, const Shape& input, const Shape& indices) {
  const Dims& offsets = attrs.offset_dims;
  fail_if(!ascending(offsets), "Output window dimensions in gather op must be ascending; got: {}.",
          join(offsets));
  fail_if(!all_unique(offsets), "Output window dimensions in gather op must not repeat; got: {}.",
          join(offsets));
  const auto rank = static_cast<std::int64_t>(offsets.size()) + indices.rank() - 1;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] < 0 || offsets[i] >= rank) {
      fail(
          "Offset dimension {} in gather op is out of bounds; got {}, but should have been in "
          "[0,{}).",
          i, offsets[i], rank);
    }
  }
  check_index_map(attrs.start_index_map, indices, attrs.index_vector_dim, input.rank(), "Gather",
                  "start_index_map");
  check_window_dims(attrs.collapsed_slice_dims, input.rank(), "collapsed_slice_dims", "gather");
  check_batching(attrs.operand_batching_dims, attrs.start_indices_batching_dims, input, indices,
                 attrs.index_vector_dim, "Gather");
  check_disjoint(attrs.collapsed_slice_dims, attrs.operand_batching_dims, "Gather");
  check_slice_sizes(attrs, input);
}

// Checks one operand of scatter with its updates.
void check_updates(const ScatterAttrs& attrs, const Shape& operand, const Shape& indices,
                   const Shape& updates) {
  const auto rank = indices.rank() - 1 + static_cast<std::int64_t>(attrs.update_window_dims.size());
  fail_if(updates.rank() != rank, "Updates tensor must be of rank {}; got {}.", rank,
          updates.rank());
  check_window_dims(attrs.update_window_dims, updates.rank(), "update_window_dims", "scatter");
  check_window_dims(attrs.inserted_window_dims, operand.rank(), "inserted_window_dims", "scatter");
  check_batching(attrs.input_batching_dims, attrs.scatter_indices_batching_dims, operand, indices,
                 attrs.index_vector_dim, "Scatter");
  check_disjoint(attrs.inserted_window_dims, attrs.input_batching_dims, "Scatter");
  const std::size_t window = attrs.update_window_dims.size() + attrs.inserted_window_dims.size() +
                             attrs.input_batching_dims.size();
  fail_if(window != operand.dims.size(),
          "Scatter op has window of size {}; doesn't match operand of rank {}.", window,
          operand.rank());
  check_index_map(attrs.scatter_dims_to_operand_dims, indices, attrs.index_vector_dim,
                  operand.rank(), "Scatter", "scatter_dims_to_operand_dims");
}

void check_update_sizes(const ScatterAttrs& attrs, const Shape& operand, const Shape& indices,
                        const Shape& updates) {
  std::size_t window = 0;
  for (int i = 0; i < operand.rank(); ++i) {
    if (contains(attrs.inserted_window_dims, i) || contains(attrs.input_batching_dims, i)) continue;
    const auto dim = static_cast<std::size_t>(attrs.update_window_dims[window++]);
    const std::int64_t bound = operand.dims[static_cast<std::size_t>(i)];
    fail_if(updates.dims[dim] > bound,
            "Bounds of the window dimensions of updates must not exceed the bounds of the "
            "corresponding dimensions of operand. For dimension {}, updates bound is {}, operand "
            "bound is {}.",
            dim, updates.dims[dim], bound);
  }
  std::int64_t seen = 0;
  for (int i = 0; i < updates.rank(); ++i) {
    if (contains(attrs.update_window_dims, i)) continue;
    if (seen == attrs.index_vector_dim) ++seen;
    const std::int64_t bound = indices.dims[static_cast<std::size_t>(seen++)];
    fail_if(updates.dims[static_cast<std::size_t>(i)] != bound,
            "Bounds of the scatter dimensions of updates must be same as the bounds of the "
            "corresponding dimensions of scatter indices. For scatter dimension {}, updates bound "
            "is {}, scatter_indices bound is {}.",
            i, updates.dims[static_cast<std::size_t>(i)], bound);
  }
}

}  // namespace

Shape gather(const Site& site) {
  const Shape& input = site.operand(0);
  const GatherAttrs& attrs = site.attrs<GatherAttrs>();
  expect_array(input, "input tensor operand of gather op");
  expect_array(site.operand(1), "gather indices operand of gather op");
  fail_if(!is_integer(site.operand(1).dtype),
          "Gather indices parameter must be an integral tensor; got {}.", human(site.operand(1)));
  const Shape indices = expanded_indices(site.operand(1), attrs.index_vector_dim, "Gather");
  check_gather(attrs, input, indices);
  Shape result;
  result.dtype = input.dtype;
  int window = 0;
  int batch = 0;
  const auto rank = static_cast<std::int64_t>(attrs.offset_dims.size()) + indices.rank() - 1;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (!contains(attrs.offset_dims, i)) {
      if (batch == attrs.index_vector_dim) ++batch;
      append_dim(result, indices, batch++);
      continue;
    }
    while (contains(attrs.collapsed_slice_dims, window) ||
           contains(attrs.operand_batching_dims, window)) {
      ++window;
    }
    append_dim(result, input, window);
    result.dims.back() = attrs.slice_sizes[static_cast<std::size_t>(window)];
    ++window;
  }
  return result;
}

Shape scatter(const Site& site) {
  const std::size_t operands = site.count() / 2;
  fail_if(operands * 2 + 1 != site.count() || operands == 0,
          "Invalid argument count of scatter op: Expected {}, saw {}", operands * 2 + 1,
          site.count());
  const ScatterAttrs& attrs = site.attrs<ScatterAttrs>();
  const Shape& given = site.operand(operands);
  expect_array(given, "scatter indices of scatter op");
  fail_if(!is_integer(given.dtype), "Scatter indices parameter must be an integral tensor; got {}.",
          human(given));
  const Shape indices = expanded_indices(given, attrs.index_vector_dim, "Scatter");
  std::vector<Shape> init_scalars;
  std::vector<DType> types;
  std::vector<Shape> results;
  for (std::size_t i = 0; i < operands; ++i) {
    const Shape& operand = site.operand(i);
    const Shape& updates = site.operand(operands + 1 + i);
    expect_array(operand, "operand of scatter op");
    expect_array(updates, "updates of scatter op");
    check_updates(attrs, operand, indices, updates);
    check_update_sizes(attrs, operand, indices, updates);
    init_scalars.push_back(Shape::array(operand.dtype, {}));
    types.push_back(updates.dtype);
    results.push_back(array_like(operand, operand.dtype));
  }
  std::vector<const Shape*> init_values;
  for (const Shape& scalar : init_scalars) init_values.push_back(&scalar);
  check_reducer(site.callee(0), init_values, types);
  return results.size() == 1 ? results[0] : Shape::tuple(std::move(results));
}

}  // namespace tilecast::ir::infer

// Result shapes of matrix products.
#include "ir/infer/infer_rules.h"

namespace tilecast::ir::infer {
namespace {

bool in_range(const Dims& dims, int rank) {
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim >= rank) return false;
  }
  return true;
}

bool disjoint_unique(const Dims& a, const Dims& b) {
  Dims both = a;
  both.insert(both.end(), b.begin(), b.end());
  return all_unique(both);
}

std::int64_t size(const Shape& shape, std::int64_t dim) {
  return shape.dims[static_cast<std::size_t>(dim)];
}

struct DotText {
  const DotDims& dims;
  [[nodiscard]] std::string str() const {
    return fmt::format(
        "lhs_contracting {{{}}} rhs_contracting {{{}}} lhs_batch {{{}}} rhs_batch {{{}}}",
        join(dims.lhs_contracting), join(dims.rhs_contracting), join(dims.lhs_batch),
        join(dims.rhs_batch));
  }
};

[[noreturn]] void cannot(const Shape& lhs, const Shape& rhs, std::string_view why) {
  fail("Cannot infer shape for dot operation: {} <dot> {}. {}", human(lhs), human(rhs), why);
}

void check_dims(const Shape& lhs, const Shape& rhs, const DotDims& dims) {
  expect_array(lhs, "lhs of dot");
  expect_array(rhs, "rhs of dot");
  fail_if(!in_range(dims.lhs_contracting, lhs.rank()) || !in_range(dims.lhs_batch, lhs.rank()) ||
              !in_range(dims.rhs_contracting, rhs.rank()) || !in_range(dims.rhs_batch, rhs.rank()),
          "A dimension number is out of range in Dot: {}.", DotText{dims});
  fail_if(!disjoint_unique(dims.lhs_contracting, dims.lhs_batch) ||
              !disjoint_unique(dims.rhs_contracting, dims.rhs_batch),
          "A dimension number is not unique in Dot: {}.", DotText{dims});
  if (dims.lhs_contracting.size() != dims.rhs_contracting.size()) {
    cannot(lhs, rhs, "Must specify the same number of contracting dimensions for lhs and rhs.");
  }
  for (std::size_t i = 0; i < dims.lhs_contracting.size(); ++i) {
    if (size(lhs, dims.lhs_contracting[i]) != size(rhs, dims.rhs_contracting[i])) {
      cannot(lhs, rhs, "Contracting dimension sizes do not match.");
    }
  }
  if (dims.lhs_batch.size() != dims.rhs_batch.size()) {
    cannot(lhs, rhs, "Must the same number of batch dimensions for lhs and rhs.");
  }
  for (std::size_t i = 0; i < dims.lhs_batch.size(); ++i) {
    if (size(lhs, dims.lhs_batch[i]) != size(rhs, dims.rhs_batch[i])) {
      cannot(lhs, rhs, "Batch dimension sizes must match for lhs/rhs.");
    }
  }
}

// Batch dimensions, then the remaining ones of lhs, then those of rhs.
Shape product_shape(const Site& site, const DotDims& dims, const Dims& rhs_dropped) {
  const Shape& lhs = site.operand(0);
  const Shape& rhs = site.operand(1);
  Shape result;
  result.dtype = product_type(site);
  for (const std::int64_t dim : dims.lhs_batch) append_dim(result, lhs, static_cast<int>(dim));
  for (int i = 0; i < lhs.rank(); ++i) {
    if (!contains(dims.lhs_contracting, i) && !contains(dims.lhs_batch, i)) {
      append_dim(result, lhs, i);
    }
  }
  for (int i = 0; i < rhs.rank(); ++i) {
    if (!contains(dims.rhs_contracting, i) && !contains(dims.rhs_batch, i) &&
        !contains(rhs_dropped, i)) {
      append_dim(result, rhs, i);
    }
  }
  return result;
}

// A scale must have its operand's rank, and each of its sizes must divide the operand's.
void check_scale(const Shape& operand, const Shape& scale, std::string_view which) {
  if (scale.is_scalar()) return;
  expect_array(scale, "scale of scaled-dot");
  fail_if(scale.rank() != operand.rank(),
          "The {} scale has different number of dimensions than operand: {} vs {} in scaled-dot",
          which, human(scale), human(operand));
  for (std::size_t i = 0; i < operand.dims.size(); ++i) {
    if (scale.dims[i] == 0 ? operand.dims[i] != 0 : operand.dims[i] % scale.dims[i] != 0) {
      fail(
          "The {} operand dimension {} with size {} should be a multiple of dimension {} of its "
          "scale with size {} in scaled-dot",
          which, i, operand.dims[i], i, scale.dims[i]);
    }
  }
}

// Checks the numbers of ragged and group dimensions.
void check_ragged_numbers(const Shape& lhs, const Shape& rhs, const Shape& groups,
                          const DotDims& dims) {
  expect_array(groups, "group_sizes of ragged dot");
  fail_if(!is_integer(groups.dtype), "group_sizes of ragged dot must be of integral type; got {}.",
          human(groups));
  fail_if(dims.lhs_ragged.size() != 1, "There must be exactly one ragged dimension in the lhs.");
  const std::int64_t ragged = dims.lhs_ragged[0];
  fail_if(ragged < 0 || ragged >= lhs.rank(),
          "A dimension number is out of range in RaggedDot: lhs_ragged_dims {}.", ragged);
  fail_if(!in_range(dims.rhs_group, rhs.rank()),
          "A dimension number is out of range in RaggedDot: rhs_group_dims {}.",
          join(dims.rhs_group));
  fail_if(!disjoint_unique(dims.rhs_group, dims.rhs_contracting) ||
              !disjoint_unique(dims.rhs_group, dims.rhs_batch),
          "A dimension number is not unique in RaggedDot: rhs_group_dims {}.",
          join(dims.rhs_group));
}

// Checks depending on the kind of ragged dimension: if it is contracting or batch, rhs has no group
// dimension.
void check_ragged(const Shape& lhs, const Shape& rhs, const Shape& groups, const DotDims& dims) {
  check_ragged_numbers(lhs, rhs, groups, dims);
  fail_if(groups.dims.empty(), "group_sizes of ragged dot must have rank 1 or more.");
  const std::int64_t ragged = dims.lhs_ragged[0];
  const bool contracting = contains(dims.lhs_contracting, ragged);
  const bool batch = contains(dims.lhs_batch, ragged);
  if (contracting || batch) {
    fail_if(!dims.rhs_group.empty(),
            "There must be zero group dimensions in the rhs when the ragged dimension is batch or "
            "contracting.");
  } else {
    fail_if(dims.rhs_group.size() != 1,
            "There must be exactly one group dimension in the rhs when the ragged dimension is "
            "non-contracting.");
    fail_if(size(rhs, dims.rhs_group[0]) != groups.dims.back(),
            "rhs group dimension is expected to have size={}, got {}", groups.dims.back(),
            size(rhs, dims.rhs_group[0]));
  }
}

}  // namespace

Shape dot(const Site& site) {
  const DotDims& dims = site.attrs<DotAttrs>().dims;
  check_dims(site.operand(0), site.operand(1), dims);
  return product_shape(site, dims, {});
}

Shape scaled_dot(const Site& site) {
  const DotDims& dims = site.attrs<DotAttrs>().dims;
  const Shape& lhs_scale = site.operand(2);
  const Shape& rhs_scale = site.operand(3);
  check_dims(site.operand(0), site.operand(1), dims);
  fail_if(lhs_scale.is_scalar() && rhs_scale.is_scalar(),
          "At least one of the scales should be not a scalar in scaled-dot {}",
          site.instruction.name);
  check_scale(site.operand(0), lhs_scale, "lhs");
  check_scale(site.operand(1), rhs_scale, "rhs");
  return product_shape(site, dims, {});
}

Shape ragged_dot(const Site& site) {
  const DotDims& dims = site.attrs<DotAttrs>().dims;
  const Shape& groups = site.operand(2);
  check_dims(site.operand(0), site.operand(1), dims);
  check_ragged(site.operand(0), site.operand(1), groups, dims);
  Shape result = product_shape(site, dims, dims.rhs_group);
  if (contains(dims.lhs_contracting, dims.lhs_ragged[0])) {
    result.dims.insert(result.dims.begin(), groups.dims.back());
    result.dynamic_mask <<= 1;
  }
  return result;
}

}  // namespace tilecast::ir::infer

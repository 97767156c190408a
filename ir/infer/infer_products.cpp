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

// Result shape of convolution.

namespace {

struct Convolution {
  const Shape& lhs;
  const Shape& rhs;
  const ConvAttrs& attrs;

  [[nodiscard]] std::string str() const {
    return fmt::format("got <conv>({}, {}) Dimension numbers: {{{}}}", human(lhs), human(rhs),
                       attrs.dims.text);
  }
  [[nodiscard]] std::int64_t lhs_size(std::int64_t dim) const {
    return lhs.dims[static_cast<std::size_t>(dim)];
  }
  [[nodiscard]] std::int64_t rhs_size(std::int64_t dim) const {
    return rhs.dims[static_cast<std::size_t>(dim)];
  }
};

void check_ranks(const Convolution& conv) {
  const ConvDims& dims = conv.attrs.dims;
  const std::size_t spatial = dims.input_spatial.size();
  fail_if(dims.kernel_spatial.size() != spatial,
          "Both arguments to convolution must have same number of dimensions. Numbers: {}",
          dims.text);
  fail_if(dims.output_spatial.size() != spatial,
          "Both input and output of convolution must have same number of dimensions. Numbers: {}",
          dims.text);
  fail_if(conv.attrs.window.size() != spatial,
          "Window must have same number of dimensions as dimension numbers. Window: {} Dimension "
          "numbers: {}.",
          conv.attrs.window.size(), dims.text);
  fail_if(conv.lhs.dims.size() != spatial + 2,
          "The LHS argument to a convolution should have rank {}; lhs: {}.", spatial + 2,
          human(conv.lhs));
  fail_if(conv.rhs.dims.size() != spatial + 2,
          "The RHS argument to a convolution should have rank {}; rhs: {}.", spatial + 2,
          human(conv.rhs));
}

void check_labels(const ConvDims& dims, const Dims& spatial, int first, int second,
                  std::string_view what) {
  Dims all = spatial;
  all.push_back(first);
  all.push_back(second);
  const auto rank = static_cast<int>(all.size());
  for (const std::int64_t dim : all) {
    fail_if(dim < 0 || dim >= rank, "A dimension number is out of range in convolution: {}.",
            dims.text);
  }
  fail_if(!is_permutation(all, rank),
          "{} dimensions of convolution must contain each dimension exactly once: {}.", what,
          dims.text);
}

void check_groups(const Convolution& conv) {
  const std::int64_t features = conv.attrs.feature_group_count;
  const std::int64_t batches = conv.attrs.batch_group_count;
  fail_if(features <= 0, "feature_group_count must be a positive number, got {}", features);
  fail_if(batches <= 0, "batch_group_count must be a positive number, got {}", batches);
  fail_if(batches > 1 && features > 1,
          "both batch_group_count {} and feature_group_count {} cannot be greater than 1", batches,
          features);
}

void check_feature_sizes(const Convolution& conv) {
  const ConvDims& dims = conv.attrs.dims;
  const std::int64_t groups = conv.attrs.feature_group_count;
  const std::int64_t batch_groups = conv.attrs.batch_group_count;
  const std::int64_t input_features = conv.lhs_size(dims.input_feature);
  const std::int64_t kernel_in = conv.rhs_size(dims.kernel_input_feature);
  const std::int64_t kernel_out = conv.rhs_size(dims.kernel_output_feature);
  fail_if(kernel_out % batch_groups != 0,
          "Expected output feature dimension size (value {}) to be a multiple of batch group count "
          "{}; {}.",
          kernel_out, batch_groups, conv);
  fail_if(
      input_features % groups != 0 || input_features / groups != kernel_in,
      "Expected LHS feature dimension (value {}) to be a multiple of feature_group_count (value "
      "{}), and LHS feature dimension / feature_group_count = RHS feature dimension (value {}); "
      "{}.",
      input_features, groups, kernel_in, conv);
  fail_if(kernel_out % groups != 0,
          "Expected output feature dimension (value {}) to be divisible by feature_group_count "
          "(value {}); {}.",
          kernel_out, groups, conv);
  fail_if(conv.lhs_size(dims.input_batch) % batch_groups != 0,
          "Expected input batch dimension (value {}) to be divisible by batch_group_count (value "
          "{}); {}.",
          conv.lhs_size(dims.input_batch), batch_groups, conv);
}

}  // namespace

Shape convolution(const Site& site) {
  const Convolution conv{site.operand(0), site.operand(1), site.attrs<ConvAttrs>()};
  const ConvDims& dims = conv.attrs.dims;
  expect_array(conv.lhs, "lhs of convolution");
  expect_array(conv.rhs, "rhs of convolution");
  check_groups(conv);
  check_ranks(conv);
  check_labels(dims, dims.input_spatial, dims.input_batch, dims.input_feature, "Input");
  check_labels(dims, dims.kernel_spatial, dims.kernel_input_feature, dims.kernel_output_feature,
               "Window");
  check_labels(dims, dims.output_spatial, dims.output_batch, dims.output_feature, "Output");
  check_feature_sizes(conv);
  Shape base;
  for (std::size_t i = 0; i < dims.kernel_spatial.size(); ++i) {
    fail_if(conv.rhs_size(dims.kernel_spatial[i]) != conv.attrs.window[i].size,
            "Window dimensions do not match RHS shape: RHS shape: {} Window size: {} {}.",
            human(conv.rhs), conv.attrs.window[i].size, conv);
    append_dim(base, conv.lhs, static_cast<int>(dims.input_spatial[i]));
  }
  const Shape windowed = window_output(base, conv.attrs.window, conv.lhs.dtype);
  Shape result = Shape::array(product_type(site), Dims(conv.lhs.dims.size()));
  const auto set = [&result](std::int64_t dim, std::int64_t size, bool dynamic) {
    result.dims[static_cast<std::size_t>(dim)] = size;
    if (dynamic) result.set_dynamic(static_cast<int>(dim));
  };
  set(dims.output_batch, conv.lhs_size(dims.input_batch) / conv.attrs.batch_group_count,
      conv.lhs.is_dynamic(dims.input_batch));
  set(dims.output_feature, conv.rhs_size(dims.kernel_output_feature), false);
  for (std::size_t i = 0; i < dims.output_spatial.size(); ++i) {
    set(dims.output_spatial[i], windowed.dims[i], windowed.is_dynamic(static_cast<int>(i)));
  }
  return result;
}

// Result shapes of fft, cholesky, triangular-solve and the batch normalisations.

namespace {

DType real_part(DType dtype) {
  return dtype == DType::kC64 ? DType::kF32 : DType::kF64;
}

void check_inner_dims(std::string_view what, const Shape& operand, const Dims& length,
                      std::size_t checked) {
  const std::size_t first = operand.dims.size() - length.size();
  for (std::size_t i = 0; i < checked; ++i) {
    fail_if(operand.dims[first + i] != length[i], "{}, but dimension {} is {} and should be {}.",
            what, first + i, operand.dims[first + i], length[i]);
  }
}

Shape real_fft(const Shape& operand, const Dims& length) {
  fail_if(operand.dtype != DType::kF32 && operand.dtype != DType::kF64,
          "RFFT requires F32 or F64 input type, found {}.", type_name(operand.dtype));
  check_inner_dims("RFFT requires innermost dimensions match fft_length", operand, length,
                   length.size());
  Shape result = array_like(operand, operand.dtype == DType::kF32 ? DType::kC64 : DType::kC128);
  if (length.back() != 0) result.dims.back() = length.back() / 2 + 1;
  return result;
}

Shape inverse_real_fft(const Shape& operand, const Dims& length) {
  fail_if(!is_complex(operand.dtype), "IRFFT requires complex input type, found {}.",
          type_name(operand.dtype));
  check_inner_dims("IRFFT requires all but one innermost dimensions match fft_length", operand,
                   length, length.size() - 1);
  const std::int64_t inner = operand.dims.back();
  if ((inner != 0 || length.back() != 0) && inner != length.back() / 2 + 1) {
    fail(
        "IRFFT requires innermost dimension matches fft_length/2+1, but dimension {} is {} and "
        "should be {}.",
        operand.rank() - 1, inner, length.back() / 2 + 1);
  }
  Shape result = array_like(operand, real_part(operand.dtype));
  result.dims.back() = length.back();
  return result;
}

void check_square(const Shape& a) {
  fail_if(a.dims[a.dims.size() - 2] != a.dims.back(),
          "The two minor dimensions of 'a' must have equal size, got {}.", human(a));
}

// Checks operand 0 and the per-feature vectors; `names` are operands 1, 2, ...
std::int64_t check_batch_norm(const Site& site, std::string_view op,
                              std::initializer_list<std::string_view> names) {
  const Shape& operand = site.operand(0);
  const std::int64_t feature = site.attrs<BatchNormAttrs>().feature_index;
  expect_array(operand, fmt::format("operand of {}", op));
  fail_if(feature >= operand.rank(),
          "Expected feature_index of {} to be smaller than the rank of operand_shape; got "
          "feature_index {}, and rank {}.",
          op, feature, operand.rank());
  fail_if(feature < 0, "Expected feature_index of {} to be a non-negative number, got {}.", op,
          feature);
  fail_if(!is_floating(operand.dtype),
          "The operand to {} must have a floating point element type, but the shape is {}.", op,
          type_name(operand.dtype));
  const std::int64_t count = operand.dims[static_cast<std::size_t>(feature)];
  std::size_t index = 0;
  for (const std::string_view what : names) {
    const Shape& vector = site.operand(++index);
    expect_array(vector, fmt::format("{} input of {}", what, op));
    fail_if(vector.rank() != 1, "{} input of {} must have rank 1, but has rank {}.", what, op,
            vector.rank());
    fail_if(
        !same_type_ignoring_fp(vector.dtype, operand.dtype),
        "The inputs should have the same element type for {}, but the shape of {} is {} and the "
        "shape of operand is {}.",
        op, what, type_name(vector.dtype), type_name(operand.dtype));
    fail_if(vector.dims[0] != count,
            "The size of {} should be the same as feature count,but the size of {} is {} and the "
            "feature count is {}.",
            what, what, vector.dims[0], count);
  }
  return count;
}

Shape with_statistics(const Shape& operand, std::int64_t features) {
  const Shape vector = Shape::array(operand.dtype, {features});
  return Shape::tuple({array_like(operand, operand.dtype), vector, vector});
}

}  // namespace

Shape fft(const Site& site) {
  const Shape& operand = site.operand(0);
  const FftAttrs& attrs = site.attrs<FftAttrs>();
  expect_array(operand, "operand of fft");
  fail_if(attrs.length.empty() || attrs.length.size() > 3, "FFT only supports ranks 1-3; got {}.",
          attrs.length.size());
  fail_if(operand.dims.size() < attrs.length.size(),
          "FFT of rank {} requires input of at least same rank; got input of rank {}",
          attrs.length.size(), operand.rank());
  if (attrs.type == "RFFT") return real_fft(operand, attrs.length);
  if (attrs.type == "IRFFT") return inverse_real_fft(operand, attrs.length);
  fail_if(!is_complex(operand.dtype), "{} requires complex input type, found {}.", attrs.type,
          type_name(operand.dtype));
  return array_like(operand, operand.dtype);
}

Shape cholesky(const Site& site) {
  const Shape& a = site.operand(0);
  fail_if(!is_floating(a.dtype) && !is_complex(a.dtype),
          "Expected element type in shape to be floating or complex for Cholesky; got {}.",
          type_name(a.dtype));
  fail_if(a.rank() < 2, "The 'a' argument to Cholesky must have rank >= 2, got shape {}", human(a));
  check_square(a);
  return array_like(a, a.dtype);
}

Shape triangular_solve(const Site& site) {
  const Shape& a = site.operand(0);
  const Shape& b = site.operand(1);
  fail_if((!is_floating(a.dtype) && !is_complex(a.dtype)) || a.dtype != b.dtype,
          "Expected element types in shape to be floating or complex and identical for "
          "TriangularSolve; got {} and {}.",
          type_name(a.dtype), type_name(b.dtype));
  fail_if(a.rank() < 2, "The 'a' argument to TriangularSolve must have rank >= 2, got shape {}",
          human(a));
  fail_if(b.rank() != a.rank(),
          "Arguments to triangular solve must have equal rank; got {} and {}.", human(b), human(a));
  check_square(a);
  const std::size_t rank = a.dims.size();
  const bool left = site.attrs<TriangularAttrs>().left_side;
  fail_if(a.dims.back() != b.dims[rank - (left ? 2 : 1)],
          "The shared dimension of 'a' and 'b' does not match, got shapes {} and {}", human(a),
          human(b));
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    fail_if(a.dims[i] != b.dims[i],
            "The leading batch dimensions of the arguments to triangular solve must be equal; got "
            "{} and {}.",
            human(b), human(a));
  }
  return array_like(b, b.dtype);
}

Shape batch_norm_training(const Site& site) {
  const std::int64_t features =
      check_batch_norm(site, "batch-norm-training", {"scale factor", "offset factor"});
  return with_statistics(site.operand(0), features);
}

Shape batch_norm_inference(const Site& site) {
  const std::int64_t features = check_batch_norm(
      site, "batch-norm-inference", {"scale factor", "offset factor", "mean", "variance"});
  static_cast<void>(features);
  return array_like(site.operand(0), site.operand(0).dtype);
}

Shape batch_norm_grad(const Site& site) {
  const Shape& operand = site.operand(0);
  const std::int64_t features =
      check_batch_norm(site, "batch-norm-grad", {"scale factor", "mean", "variance"});
  const Shape& gradient = site.operand(4);
  expect_array(gradient, "output_grad input of batch-norm-grad");
  fail_if(!is_floating(gradient.dtype),
          "The output_grad to batch-norm-grad must have a floating point element type, but the "
          "shape is {}.",
          type_name(gradient.dtype));
  fail_if(operand.rank() != gradient.rank(),
          "Expected operand_shape of batch-norm-grad to have the same rank as output_grad_shape; "
          "got rank(oprand_shape) {}, and rank(output_grad_shape) {}.",
          operand.rank(), gradient.rank());
  fail_if(operand.dims != gradient.dims,
          "The bounds of operand shape should be the same as output_grad's; got {} and {}.",
          human(operand), human(gradient));
  return with_statistics(operand, features);
}

}  // namespace tilecast::ir::infer

// Result shapes of fft, cholesky, triangular-solve and the batch normalisations.
#include "ir/infer/infer_rules.h"

namespace tilecast::ir::infer {
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

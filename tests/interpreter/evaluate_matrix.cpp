// Matrix products and convolutions as sums of products. Floating-point sums are of doubles, without
// intermediate rounding; integer sums are modulo 2^64.
#include <algorithm>

#include "tests/interpreter/evaluate_ops.h"

namespace tilecast::interpreter {
namespace {

class Sum {
 public:
  explicit Sum(DType dtype) : dtype_(dtype), floating_(is_floating(dtype)) {}
  void add_product(double a, double b) {
    if (floating_) {
      sum_ += a * b;
    } else {
      bits_ += integer_bits(a) * integer_bits(b);
    }
  }
  [[nodiscard]] double value() const {
    return floating_ ? as_type(sum_, dtype_) : wrapped(bits_, dtype_);
  }

 private:
  DType dtype_;
  bool floating_;
  double sum_ = 0;
  std::uint64_t bits_ = 0;
};

// Positions of all indices over `dims` of the shape, the first of them varying slowest.
Dims offsets(const Shape& shape, const Dims& dims) {
  const Dims strides = row_major_strides(shape.dims);
  Dims sizes, steps, result;
  for (const std::int64_t dim : dims) {
    sizes.push_back(shape.dims[at(dim)]);
    steps.push_back(strides[at(dim)]);
  }
  walk(sizes, 0, steps, [&](std::int64_t position) { result.push_back(position); });
  return result;
}

Dims other_dims(const Shape& shape, const Dims& a, const Dims& b) {
  Dims rest;
  for (std::int64_t d = 0; d < shape.rank(); ++d) {
    if (std::count(a.begin(), a.end(), d) + std::count(b.begin(), b.end(), d) == 0) {
      rest.push_back(d);
    }
  }
  return rest;
}

struct Tap {  // one kernel position on actual input
  std::int64_t input, kernel;
};

// The inputs of each output position (all spatial dimensions, row-major).
class Taps {
 public:
  Taps(const ConvAttrs& attrs, const Shape& input, const Shape& kernel, const Shape& output)
      : attrs_(attrs), input_(input), kernel_(kernel), output_(output) {
    input_strides_ = row_major_strides(input.dims);
    kernel_strides_ = row_major_strides(kernel.dims);
    add_outputs(0, {Tap{0, 0}});
  }
  [[nodiscard]] const std::vector<Tap>& at_output(std::size_t position) const {
    return taps_[position];
  }

 private:
  void add_outputs(std::size_t d, const std::vector<Tap>& before) {
    if (d == attrs_.window.size()) {
      taps_.push_back(before);
      return;
    }
    const WindowDim& window = attrs_.window[d];
    const std::size_t in = at(attrs_.dims.input_spatial[d]);
    const std::size_t of = at(attrs_.dims.kernel_spatial[d]);
    const std::int64_t outputs = output_.dims[at(attrs_.dims.output_spatial[d])];
    for (std::int64_t o = 0; o < outputs; ++o) {
      std::vector<Tap> taps;
      for (const Tap& tap : before) {
        for (std::int64_t k = 0; k < window.size; ++k) {
          const std::int64_t source = window_source(window, o, k, input_.dims[in]);
          if (source < 0) continue;
          const std::int64_t weight = window.reversal ? window.size - 1 - k : k;
          taps.push_back(
              {tap.input + source * input_strides_[in], tap.kernel + weight * kernel_strides_[of]});
        }
      }
      add_outputs(d + 1, taps);
    }
  }

  const ConvAttrs& attrs_;
  const Shape& input_;
  const Shape& kernel_;
  const Shape& output_;
  Dims input_strides_, kernel_strides_;
  std::vector<std::vector<Tap>> taps_;
};

class Convolution {
 public:
  Convolution(const Op& op, Values operands)
      : attrs_(op.as<ConvAttrs>()),
        op_(op),
        input_(operands[0]),
        kernel_(operands[1]),
        taps_(attrs_, *input_.shape, *kernel_.shape, op.shape) {}

  Elements run() const {
    const ConvDims& dims = attrs_.dims;
    const Dims batches = offsets(op_.shape, {dims.output_batch});
    const Dims features = offsets(op_.shape, {dims.output_feature});
    const Dims positions = offsets(op_.shape, dims.output_spatial);
    Elements result(at(element_count(op_.shape)));
    for (std::size_t b = 0; b < batches.size(); ++b) {
      for (std::size_t f = 0; f < features.size(); ++f) {
        for (std::size_t p = 0; p < positions.size(); ++p) {
          result[at(batches[b] + features[f] + positions[p])] =
              element(static_cast<std::int64_t>(b), static_cast<std::int64_t>(f), p);
        }
      }
    }
    return result;
  }

 private:
  static std::int64_t size(const Shape& shape, int dim) { return shape.dims[at(dim)]; }
  static std::int64_t stride(const Shape& shape, int dim) {
    return row_major_strides(shape.dims)[at(dim)];
  }

  [[nodiscard]] double element(std::int64_t batch, std::int64_t feature,
                               std::size_t position) const {
    const ConvDims& dims = attrs_.dims;
    const Shape& in = *input_.shape;
    const Shape& of = *kernel_.shape;
    const std::int64_t features = size(op_.shape, dims.output_feature);
    const std::int64_t depth = size(of, dims.kernel_input_feature);
    const std::int64_t group = feature / (features / attrs_.feature_group_count);
    const std::int64_t batch_group = feature / (features / attrs_.batch_group_count);
    batch += batch_group * (size(in, dims.input_batch) / attrs_.batch_group_count);
    const std::int64_t in_base =
        batch * stride(in, dims.input_batch) + group * depth * stride(in, dims.input_feature);
    const std::int64_t of_base = feature * stride(of, dims.kernel_output_feature);
    const std::int64_t in_step = stride(in, dims.input_feature);
    const std::int64_t of_step = stride(of, dims.kernel_input_feature);
    Sum sum(op_.shape.dtype);
    for (const Tap& tap : taps_.at_output(position)) {
      for (std::int64_t c = 0; c < depth; ++c) {
        sum.add_product(input_[in_base + tap.input + c * in_step],
                        kernel_[of_base + tap.kernel + c * of_step]);
      }
    }
    return sum.value();
  }

  const ConvAttrs& attrs_;
  const Op& op_;
  const Value& input_;
  const Value& kernel_;
  Taps taps_;
};

}  // namespace

Elements dot(const Op& op, Values operands) {
  const DotDims& dims = op.as<DotAttrs>().dims;
  const Shape& lhs = *operands[0].shape;
  const Shape& rhs = *operands[1].shape;
  const Dims lhs_batch = offsets(lhs, dims.lhs_batch), rhs_batch = offsets(rhs, dims.rhs_batch);
  const Dims lhs_terms = offsets(lhs, dims.lhs_contracting);
  const Dims rhs_terms = offsets(rhs, dims.rhs_contracting);
  const Dims rows = offsets(lhs, other_dims(lhs, dims.lhs_batch, dims.lhs_contracting));
  const Dims columns = offsets(rhs, other_dims(rhs, dims.rhs_batch, dims.rhs_contracting));
  Elements result;
  for (std::size_t b = 0; b < lhs_batch.size(); ++b) {
    for (const std::int64_t row : rows) {
      for (const std::int64_t column : columns) {
        Sum sum(op.shape.dtype);
        for (std::size_t k = 0; k < lhs_terms.size(); ++k) {
          sum.add_product(operands[0][lhs_batch[b] + row + lhs_terms[k]],
                          operands[1][rhs_batch[b] + column + rhs_terms[k]]);
        }
        result.push_back(sum.value());
      }
    }
  }
  return result;
}

Elements convolution(const Op& op, Values operands) {
  return Convolution(op, operands).run();
}

}  // namespace tilecast::interpreter

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

// --- Reductions. The initial value is applied once; window elements outside the operand are
// skipped.

namespace {

void round_all(Elements& elements, DType dtype) {
  if (!is_floating(dtype)) return;
  for (double& element : elements) element = as_type(element, dtype);
}

Elements reduce_dims(const Op& op, Values operands) {
  const Dims& sizes = operands[0].shape->dims;
  const Dims strides = row_major_strides(op.shape.dims);
  Dims steps(sizes.size(), -1);
  for (const std::int64_t dim : op.dimensions) steps[at(dim)] = 0;
  std::size_t kept = 0;
  for (std::int64_t& step : steps) {
    if (step != 0) step = strides[kept++];
  }
  Elements result(at(element_count(op.shape)), operands[1][0]);
  std::size_t next = 0;
  walk(sizes, 0, steps, [&](std::int64_t position) {
    double& sum = result[at(position)];
    sum = combine(*op.applied, op.shape.dtype, sum, (*operands[0].elements)[next++]);
  });
  return result;
}

// Operand positions read by one output position along one dimension, times its stride.
std::vector<Dims> sources(const WindowDim& window, std::int64_t outputs, std::int64_t size,
                          std::int64_t stride) {
  std::vector<Dims> all(at(outputs));
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t k = 0; k < window.size; ++k) {
      const std::int64_t source = window_source(window, o, k, size);
      if (source >= 0) all[at(o)].push_back(source * stride);
    }
  }
  return all;
}

// Reduces one dimension after another: the combiners are associative, and the initial value is
// applied before the first.
class WindowReduction {
 public:
  WindowReduction(const Op& op, const Value& operand) : op_(op), operand_(operand) {
    const Window& window = op.as<WindowAttrs>().window;
    const Dims strides = row_major_strides(operand.shape->dims);
    for (std::size_t d = 0; d < window.size(); ++d) {
      sources_.push_back(sources(window[d], op.shape.dims[d], operand.shape->dims[d], strides[d]));
    }
  }

  double at_output(const Dims& index, double initial) const {
    return combine_from(0, index, 0, initial);
  }

 private:
  double combine_from(std::size_t d, const Dims& index, std::int64_t base, double value) const {
    if (d == sources_.size()) {
      return combine(*op_.applied, op_.shape.dtype, value, operand_[base]);
    }
    for (const std::int64_t offset : sources_[d][at(index[d])]) {
      value = combine_from(d + 1, index, base + offset, value);
    }
    return value;
  }

  const Op& op_;
  const Value& operand_;
  std::vector<std::vector<Dims>> sources_;  // [dimension][output position]
};

Elements reduce_window(const Op& op, Values operands) {
  const WindowReduction reduction(op, operands[0]);
  Elements result(at(element_count(op.shape)));
  Dims index(op.shape.dims.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t d = index.size(); d > 0; --d) {
      index[d - 1] = rest % op.shape.dims[d - 1];
      rest /= op.shape.dims[d - 1];
    }
    result[i] = reduction.at_output(index, operands[1][0]);
  }
  return result;
}
}  // namespace

Elements reduce(const Op& op, Values operands) {
  Elements result =
      op.opcode == Opcode::kReduce ? reduce_dims(op, operands) : reduce_window(op, operands);
  round_all(result, op.shape.dtype);
  return result;
}
}  // namespace tilecast::interpreter

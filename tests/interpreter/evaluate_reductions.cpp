// Reductions. The initial value is applied once; window elements outside the operand are skipped.
#include "tests/interpreter/evaluate_ops.h"

namespace tilecast::interpreter {
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

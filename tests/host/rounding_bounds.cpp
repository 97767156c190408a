#include "tests/host/rounding_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/interpreter/evaluate_ops.h"

namespace tilecast::host {
namespace {

using interpreter::Elements;
using interpreter::Value;
using ir::DType;
using ir::Op;
using ir::Opcode;
using ir::Shape;

constexpr double kInf = std::numeric_limits<double>::infinity();

Shape as_f64(Shape shape) {
  shape.dtype = DType::kF64;
  return shape;
}

// The op without rounding of its result.
Op unrounded(Op op) {
  if (ir::is_floating(op.shape.dtype)) op.shape.dtype = DType::kF64;
  return op;
}
Op on_numbers(Op op) {
  op.shape.dtype = DType::kF64;
  return op;
}

double compute_roundoff(DType dtype) {
  return dtype == DType::kF64 ? 0x1p-53 : 0x1p-24;
}

double smallest(DType dtype) {
  if (dtype == DType::kF64) return 0x1p-1074;
  if (dtype == DType::kF16) return 0x1p-24;
  return ir::is_floating(dtype) ? 0x1p-149 : 0;
}

// The maximum change from storing r in its type, on either side.
double storing(double r, DType dtype) {
  if (!ir::is_floating(dtype) || !std::isfinite(r)) return 0;
  return 2 * unit_roundoff(dtype) * std::abs(r) + smallest(dtype) / 2;
}

double deviation(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  return std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : kInf;
}

bool exact(const Elements& bounds) {
  return std::all_of(bounds.begin(), bounds.end(), [](double bound) { return bound == 0; });
}

// One op of a kernel with the operands' values and bounds.
class OpBounds {
 public:
  OpBounds(const Op& op, std::vector<const Op*> operands, std::vector<const Bounded*> values)
      : op_(op), operands_(std::move(operands)), values_(std::move(values)) {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      given_.push_back({&operands_[i]->shape, &values_[i]->value});
      numbers_.push_back(as_f64(operands_[i]->shape));
    }
  }

  Bounded run() const {
    Bounded result;
    result.value = interpreter::evaluate_op(op_, given_);
    if (ir::is_elementwise(op_.opcode)) {
      result.bound = elementwise(result.value);
    } else if (op_.opcode == Opcode::kReduce || op_.opcode == Opcode::kReduceWindow) {
      result.bound = reduction(result.value);
    } else if (op_.opcode == Opcode::kDot || op_.opcode == Opcode::kConvolution) {
      result.bound = product(result.value);
    } else {
      result.bound = movement(result.value.size());
    }
    for (double& bound : result.bound) {
      if (std::isnan(bound)) bound = kInf;
    }
    return result;
  }

 private:
  [[nodiscard]] DType dtype() const { return op_.shape.dtype; }

  // The op on other numbers of the same sizes, without rounding.
  [[nodiscard]] Elements on(const std::vector<Elements>& numbers) const {
    std::vector<Value> operands;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      operands.push_back({&numbers_[i], &numbers[i]});
    }
    return interpreter::evaluate_op(on_numbers(op_), operands);
  }

  [[nodiscard]] bool is_index(std::size_t operand) const {
    using enum Opcode;
    const std::size_t first = op_.opcode == kDynamicUpdateSlice ? 2 : 1;
    return operand >= first &&
           ir::is_one_of(op_.opcode, {kGather, kDynamicSlice, kDynamicUpdateSlice});
  }

  [[nodiscard]] Elements movement(std::size_t count) const {
    if (values_.empty()) return Elements(count, 0);
    std::vector<Elements> bounds;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (is_index(i) && !exact(values_[i]->bound)) return Elements(count, kInf);
      bounds.push_back(is_index(i) ? values_[i]->value : values_[i]->bound);
    }
    return on(bounds);
  }

  // |x| + bound, or |x|.
  [[nodiscard]] Elements magnitudes(std::size_t operand, bool widened) const {
    Elements result = values_[operand]->value;
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = std::abs(result[i]) + (widened ? values_[operand]->bound[i] : 0);
    }
    return result;
  }

  // The maximum number of terms combined in one element.
  [[nodiscard]] double terms(std::size_t results) const {
    if (op_.opcode == Opcode::kReduceWindow) {
      double count = 1;
      for (const auto& dim : op_.as<ir::WindowAttrs>().window)
        count *= static_cast<double>(dim.size);
      return count;
    }
    const std::size_t weights = op_.opcode == Opcode::kConvolution ? 1 : 0;
    if (op_.opcode == Opcode::kReduce) {
      return static_cast<double>(values_[0]->value.size()) / static_cast<double>(results);
    }
    if (const auto* conv = op_.get<ir::ConvAttrs>()) {
      const auto features = static_cast<std::size_t>(conv->dims.kernel_output_feature);
      return static_cast<double>(values_[weights]->value.size()) /
             static_cast<double>(operands_[1]->shape.dims[features]);
    }
    double count = 1;
    for (const std::int64_t d : op_.as<ir::DotAttrs>().dims.lhs_contracting) {
      count *= static_cast<double>(operands_[0]->shape.dims[static_cast<std::size_t>(d)]);
    }
    return count;
  }

  [[nodiscard]] bool all_exact() const {
    return std::all_of(values_.begin(), values_.end(),
                       [](const Bounded* value) { return exact(value->bound); });
  }

  // From the combined magnitudes, with and without the operands' bounds.
  [[nodiscard]] Elements combined(const Elements& values, const Elements& plain,
                                  const Elements& widened) const {
    const double growth = 2 * (terms(values.size()) + 1) * compute_roundoff(dtype());
    Elements bounds(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      bounds[i] = widened[i] - plain[i] + growth * widened[i] + storing(values[i], dtype());
      if (!std::isfinite(values[i]) && all_exact()) bounds[i] = 0;
    }
    return bounds;
  }

  [[nodiscard]] Elements reduction(const Elements& values) const {
    if (ir::is_floating(dtype()) &&
        (op_.applied == Opcode::kMaximum || op_.applied == Opcode::kMinimum)) {
      // The error is at most that of its worst term.
      Op worst = on_numbers(op_);
      worst.applied = Opcode::kMaximum;
      const std::vector<Value> bounds = {{&numbers_[0], &values_[0]->bound},
                                         {&numbers_[1], &values_[1]->bound}};
      return interpreter::evaluate_op(worst, bounds);
    }
    return product(values);
  }

  // Sums or products of several elements.
  [[nodiscard]] Elements product(const Elements& values) const {
    if (!ir::is_floating(dtype())) return Elements(values.size(), all_exact() ? 0 : kInf);
    return combined(values, on({magnitudes(0, false), magnitudes(1, false)}),
                    on({magnitudes(0, true), magnitudes(1, true)}));
  }

  [[nodiscard]] double value_at(std::size_t operand, std::size_t i) const {
    return values_[operand]->value[operands_[operand]->shape.is_scalar() ? 0 : i];
  }
  [[nodiscard]] double bound_at(std::size_t operand, std::size_t i) const {
    return values_[operand]->bound[operands_[operand]->shape.is_scalar() ? 0 : i];
  }

  // Operands at corner `corner` of their boxes.
  [[nodiscard]] std::vector<Elements> corner_of(std::size_t corner) const {
    std::vector<Elements> moved;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      moved.push_back(values_[i]->value);
      const double sign = (corner >> i & 1U) != 0 ? 1 : -1;
      const bool pred = operands_[i]->shape.dtype == DType::kPred;
      for (std::size_t k = 0; k < moved[i].size(); ++k) {
        double& x = moved[i][k];
        if (values_[i]->bound[k] == 0) continue;
        x += sign * values_[i]->bound[k];
        if (pred) x = std::clamp(x, 0.0, 1.0);
      }
    }
    return moved;
  }

  [[nodiscard]] Elements elementwise(const Elements& values) const {
    Elements bounds(values.size(), 0);
    if (!all_exact()) {
      const Op op = unrounded(op_);
      const Elements centre = interpreter::evaluate_op(op, given_);
      for (std::size_t corner = 0; corner < (std::size_t{1} << values_.size()); ++corner) {
        const std::vector<Elements> moved = corner_of(corner);
        std::vector<Value> operands = given_;
        for (std::size_t i = 0; i < moved.size(); ++i) operands[i].elements = &moved[i];
        const Elements there = interpreter::evaluate_op(op, operands);
        for (std::size_t i = 0; i < bounds.size(); ++i) {
          bounds[i] = std::max(bounds[i], deviation(there[i], centre[i]));
        }
      }
    }
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      bounds[i] = std::max(bounds[i], between_corners(i)) + computing(values[i]);
    }
    return bounds;
  }

  // The maximum change from one computation and storing its result.
  [[nodiscard]] double computing(double r) const {
    if (!ir::is_floating(dtype()) || !std::isfinite(r)) return 0;
    using enum Opcode;
    if (ir::is_one_of(op_.opcode,
                      {kAbs, kNegate, kSign, kFloor, kCeil, kRoundNearestAfz, kRoundNearestEven,
                       kMaximum, kMinimum, kClamp, kSelect, kBitcastConvert})) {
      return 0;
    }
    const bool function = ir::op_class(op_.opcode) == ir::OpClass::kTranscendental;
    return storing(r, dtype()) + (function ? 8 : 2) * compute_roundoff(dtype()) * std::abs(r);
  }

  // Changes inside a box that its corners may not show.
  [[nodiscard]] double between_corners(std::size_t i) const {
    const double a = bound_at(0, i), b = values_.size() > 1 ? bound_at(1, i) : 0;
    if (a == 0 && b == 0) return 0;
    const double x = value_at(0, i), y = values_.size() > 1 ? value_at(1, i) : 0;
    switch (op_.opcode) {
      case Opcode::kSin:
      case Opcode::kCos:
        return a;
      case Opcode::kTan:
        return std::abs(x) + a < 1.5 ? 0 : kInf;  // no pole: pi / 2 is beyond
      case Opcode::kDivide:
      case Opcode::kRemainder:
      case Opcode::kAtan2:
        return std::abs(y) > b ? 0 : kInf;
      case Opcode::kPower:
        return x > a ? 0 : kInf;
      case Opcode::kCompare:
        return std::abs(x - y) <= a + b ? 1 : 0;
      case Opcode::kConvert:
        return dtype() == DType::kPred && std::abs(x) <= a ? 1 : 0;
      case Opcode::kBitcastConvert:
        return kInf;
      default:
        return ir::is_integer(operands_[0]->shape.dtype) && wraps() ? kInf : 0;
    }
  }

  // Integer ops for which neighbouring operands need not give neighbouring results.
  [[nodiscard]] bool wraps() const {
    using enum Opcode;
    return !ir::is_one_of(op_.opcode, {kMaximum, kMinimum, kClamp, kSelect, kSign, kConvert});
  }

  const Op& op_;
  std::vector<const Op*> operands_;
  std::vector<const Bounded*> values_;
  std::vector<Value> given_;
  std::vector<Shape> numbers_;  // the operands' shapes, of f64
};

}  // namespace

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-53;
    case DType::kF32:
      return 0x1p-24;
    case DType::kF16:
      return 0x1p-11;
    case DType::kBF16:
      return 0x1p-8;
    default:
      return 0;
  }
}

bool agrees(double got, double value, double bound) {
  if (bound == kInf) return true;
  if (std::isnan(value)) return std::isnan(got);
  return got == value || std::abs(got - value) <= bound;
}

std::vector<Bounded> evaluate_with_bounds(const ir::Kernel& kernel,
                                          std::span<const Elements> inputs) {
  std::vector<Bounded> all(kernel.ops().size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    all[kernel.parameters()[i].index()] = {inputs[i], Elements(inputs[i].size(), 0)};
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Op& op = kernel.ops()[i];
    if (op.opcode == Opcode::kParameter) continue;
    std::vector<const Op*> operands;
    std::vector<const Bounded*> values;
    for (const ir::OpId id : op.operands) {
      operands.push_back(&kernel.op(id));
      values.push_back(&all[id.index()]);
    }
    all[i] = OpBounds(op, std::move(operands), std::move(values)).run();
  }
  std::vector<Bounded> outputs;
  for (const ir::OpId id : kernel.outputs()) outputs.push_back(all[id.index()]);
  return outputs;
}

}  // namespace tilecast::host

// Constant folding of small instructions while a graph is read.
#include <algorithm>
#include <cmath>

#include "ir/literal.h"
#include "ir/onnx/emitter.h"

namespace tilecast::ir::onnx_reader {
namespace {

constexpr double kExact = 0x1p53;

double quotient(double a, double b, DType dtype) {
  return is_integer(dtype) ? std::trunc(a / b) : a / b;
}

std::optional<double> of_two(Opcode opcode, DType dtype, double a, double b) {
  switch (opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return a * b;
    case Opcode::kDivide:
      return quotient(a, b, dtype);
    case Opcode::kRemainder:
      return std::fmod(a, b);
    case Opcode::kPower:
      return std::pow(a, b);
    case Opcode::kMaximum:
      return std::isnan(a) ? a : std::max(a, b);
    case Opcode::kMinimum:
      return std::isnan(a) ? a : std::min(a, b);
    case Opcode::kAnd:
      if (dtype == DType::kPred) return a != 0 && b != 0;
      return std::nullopt;
    case Opcode::kOr:
      if (dtype == DType::kPred) return a != 0 || b != 0;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<double> of_one(Opcode opcode, DType dtype, double a) {
  switch (opcode) {
    case Opcode::kAbs:
      return std::abs(a);
    case Opcode::kNegate:
      return -a;
    case Opcode::kSqrt:
      return std::sqrt(a);
    case Opcode::kFloor:
      return std::floor(a);
    case Opcode::kCeil:
      return std::ceil(a);
    case Opcode::kRoundNearestEven:
      return std::nearbyint(a);
    case Opcode::kConvert:
      return is_integer(dtype) ? std::trunc(a) : a;
    case Opcode::kNot:
      if (dtype == DType::kPred) return a == 0;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

bool compared(const std::string& direction, double a, double b) {
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (direction == "LT") return a < b;
  if (direction == "LE") return a <= b;
  return direction == "GT" ? a > b : a >= b;
}

// The number as stored in the type; nullopt if it may be inexact.
std::optional<double> stored(double value, DType dtype) {
  if (dtype == DType::kPred) return value != 0;
  if (!is_integer(dtype)) return round_to(value, dtype);
  const double low = is_unsigned_integer(dtype) ? 0 : -std::ldexp(1, bits(dtype) - 1);
  const double high = std::ldexp(1, bits(dtype) - (is_unsigned_integer(dtype) ? 0 : 1)) - 1;
  if (!(std::abs(value) <= kExact) || value < low || value > high) return std::nullopt;
  return value;
}

std::optional<double> element(const Instruction& op, const std::vector<Known>& operands,
                              std::size_t i) {
  const auto number = [&](std::size_t operand) { return operands[operand].numbers[i]; };
  const DType dtype = op.shape.dtype;
  if (op.opcode == Opcode::kCompare) {
    return compared(op.as<CompareAttrs>().direction, number(0), number(1));
  }
  if (op.opcode == Opcode::kSelect) return number(0) != 0 ? number(1) : number(2);
  if (operands.size() == 1) {
    const auto result = of_one(op.opcode, dtype, number(0));
    return result ? stored(*result, dtype) : result;
  }
  if (operands.size() != 2) return std::nullopt;
  const auto result = of_two(op.opcode, dtype, number(0), number(1));
  return result ? stored(*result, dtype) : result;
}

std::optional<Numbers> elementwise(const Instruction& op, const std::vector<Known>& operands) {
  const auto count = static_cast<std::size_t>(element_count(op.shape));
  for (const Known& operand : operands) {
    if (operand.numbers.size() != count) return std::nullopt;
  }
  Numbers result(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = element(op, operands, i);
    if (!value) return std::nullopt;
    result[i] = *value;
  }
  return result;
}

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

// Calls visit(index) for every index of `dims`, the last dimension fastest.
template <class Visit>
void for_each_index(const Dims& dims, const Visit& visit) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
  Dims index(dims.size(), 0);
  for (;;) {
    visit(index);
    std::size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// The source index, along dimension `d` of the operand, of an element of the result.
std::int64_t source_at(const Instruction& op, const Dims& from, const Dims& index, std::size_t d) {
  switch (op.opcode) {
    case Opcode::kBroadcast:
      return index[static_cast<std::size_t>(op.dimensions[d])];
    case Opcode::kTranspose: {
      const auto at = std::find(op.dimensions.begin(), op.dimensions.end(), d);
      return index[static_cast<std::size_t>(at - op.dimensions.begin())];
    }
    case Opcode::kSlice: {
      const SliceDim& slice = op.as<SliceAttrs>().dims[d];
      return slice.start + index[d] * slice.stride;
    }
    default: {  // reverse
      const bool turned =
          std::find(op.dimensions.begin(), op.dimensions.end(), d) != op.dimensions.end();
      return turned ? from[d] - 1 - index[d] : index[d];
    }
  }
}

Numbers moved(const Instruction& op, const Known& from) {
  const Dims strides = strides_of(from.shape.dims);
  Numbers result;
  for_each_index(op.shape.dims, [&](const Dims& index) {
    std::int64_t source = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) {
      source += strides[d] * source_at(op, from.shape.dims, index, d);
    }
    result.push_back(from.numbers[static_cast<std::size_t>(source)]);
  });
  return result;
}

Numbers concatenated(const Instruction& op, const std::vector<Known>& operands) {
  const auto axis = static_cast<std::size_t>(op.dimensions[0]);
  Numbers result;
  for_each_index(op.shape.dims, [&](Dims index) {
    for (const Known& operand : operands) {
      const std::int64_t size = operand.shape.dims[axis];
      if (index[axis] < size) {
        const Dims strides = strides_of(operand.shape.dims);
        std::int64_t source = 0;
        for (std::size_t d = 0; d < strides.size(); ++d) source += strides[d] * index[d];
        result.push_back(operand.numbers[static_cast<std::size_t>(source)]);
        return;
      }
      index[axis] -= size;
    }
  });
  return result;
}

std::optional<Numbers> reduced(const Module& module, const Instruction& op,
                               const std::vector<Known>& operands) {
  if (operands.size() != 2) return std::nullopt;
  const Opcode opcode = module.at(op.called[0]).root_instruction().opcode;
  const Dims strides = strides_of(op.shape.dims);
  Numbers result(static_cast<std::size_t>(element_count(op.shape)), operands[1].numbers[0]);
  bool exact = true;
  std::size_t next = 0;
  for_each_index(operands[0].shape.dims, [&](const Dims& index) {
    std::int64_t target = 0;
    for (std::size_t d = 0, kept = 0; d < index.size(); ++d) {
      const bool gone =
          std::find(op.dimensions.begin(), op.dimensions.end(), d) != op.dimensions.end();
      if (!gone) target += strides[kept++] * index[d];
    }
    double& sum = result[static_cast<std::size_t>(target)];
    const auto value = of_two(opcode, op.shape.dtype, sum, operands[0].numbers[next++]);
    const auto kept = value ? stored(*value, op.shape.dtype) : value;
    exact = exact && kept.has_value();
    sum = kept.value_or(0);
  });
  return exact ? std::optional(result) : std::nullopt;
}

Numbers counted(const Instruction& op) {
  const auto axis = static_cast<std::size_t>(op.as<IndexAttrs>().index);
  Numbers result;
  for_each_index(op.shape.dims,
                 [&](const Dims& index) { result.push_back(static_cast<double>(index[axis])); });
  return result;
}

}  // namespace

std::optional<Numbers> fold(const Module& module, const Instruction& op,
                            const std::vector<Known>& operands) {
  switch (op.opcode) {
    case Opcode::kReshape:
      return operands[0].numbers;
    case Opcode::kBroadcast:
    case Opcode::kTranspose:
    case Opcode::kSlice:
    case Opcode::kReverse:
      return moved(op, operands[0]);
    case Opcode::kConcatenate:
      return concatenated(op, operands);
    case Opcode::kReduce:
      return reduced(module, op, operands);
    case Opcode::kIota:
      return counted(op);
    default:
      if (!is_elementwise(op.opcode)) return std::nullopt;
      return elementwise(op, operands);
  }
}

}  // namespace tilecast::ir::onnx_reader

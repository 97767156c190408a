// Values of scalar integer code: LoopEvaluator::evaluate.
#include <algorithm>
#include <bit>

#include "ir/counts/scalar_arithmetic.h"
#include "ir/counts/trip_count.h"

namespace tilecast::ir {
namespace {

constexpr int kMaxDepth = 1000;  // of nested operands

// Shapes that can have a known value: a tuple or a single integer.
bool may_be_known(const Shape& shape) {
  if (shape.is_tuple()) return true;
  const bool integral = is_integer(shape.dtype) || shape.dtype == DType::kPred;
  return integral && std::ranges::all_of(shape.dims, [](std::int64_t dim) { return dim == 1; });
}

bool passes_on(Opcode opcode) {
  using enum Opcode;
  return is_one_of(opcode, {kCopy, kCopyStart, kCopyDone, kBitcast, kReshape, kBroadcast,
                            kOptBarrier, kTranspose});
}

}  // namespace

ScalarValue common(const ScalarValue& a, const ScalarValue& b) {
  ScalarValue both;
  if (a.is_known() && a.type == b.type && a.value == b.value && b.is_known()) {
    both.type = a.type;
    both.value = a.value;
  }
  for (std::size_t i = 0; i < std::min(a.elements.size(), b.elements.size()); ++i) {
    both.elements.push_back(common(a.elements[i], b.elements[i]));
  }
  return both;
}

ScalarValue LoopEvaluator::evaluate(const Computation& computation, InstrId id,
                                    const ScalarValues& arguments) {
  Activation activation{computation, arguments, {}};
  return value_of(activation, id);
}

const ScalarValue& LoopEvaluator::value_of(Activation& at, InstrId id) {
  static const ScalarValue kUnknown;
  const Instruction& op = at.computation.at(id);
  if (!may_be_known(op.shape)) return kUnknown;
  if (op.opcode == Opcode::kParameter) {
    const auto number = static_cast<std::size_t>(op.as<ParameterAttrs>().number);
    return number < at.arguments.size() ? at.arguments[number] : kUnknown;
  }
  if (const auto found = at.values.find(id.value); found != at.values.end()) return found->second;
  if (depth_ >= kMaxDepth || --budget_ < 0) return kUnknown;
  ++depth_;
  ScalarValue value = computed(at, op);
  --depth_;
  return at.values.insert_or_assign(id.value, std::move(value)).first->second;
}

ScalarValue LoopEvaluator::computed(Activation& at, const Instruction& op) {
  using enum Opcode;
  ScalarValues operands;
  switch (op.opcode) {
    case kConstant: {
      const Literal& literal = op.as<ConstantAttrs>().literal;
      if (!literal.is_integer || literal.integers.size() != 1) return {};
      return integer_value(op.shape.dtype, static_cast<std::uint64_t>(literal.integers[0]));
    }
    case kGetTupleElement:
      return element(at, op);
    case kFusion:
    case kCall:
      return op.called.size() == 1 ? called(at, op.called[0], op.operands) : ScalarValue{};
    case kConditional:
      return branch(at, op);
    case kWhile: {
      const LoopRun loop = run(op, value_of(at, op.operands[0]));
      return loop.is_stepwise ? loop.end : ScalarValue{};
    }
    default:
      break;
  }
  const bool is_tuple = op.opcode == kTuple;
  if (!is_tuple && !passes_on(op.opcode) && !has_scalar_value(op.opcode)) return {};
  for (const InstrId operand : op.operands) operands.push_back(value_of(at, operand));
  if (is_tuple) return {.elements = std::move(operands)};
  if (!passes_on(op.opcode)) return scalar_result(op, operands);
  const bool same = !op.shape.is_array() || operands[0].type == op.shape.dtype;
  return same ? operands[0] : ScalarValue{};
}

ScalarValue LoopEvaluator::element(Activation& at, const Instruction& get) {
  const auto index = static_cast<std::size_t>(get.as<IndexAttrs>().index);
  const Instruction& tuple = at.computation.at(get.operands[0]);
  if (tuple.opcode == Opcode::kTuple) {  // without evaluating the other elements
    return index < tuple.operands.size() ? value_of(at, tuple.operands[index]) : ScalarValue{};
  }
  const ScalarValue& value = value_of(at, get.operands[0]);
  return index < value.elements.size() ? value.elements[index] : ScalarValue{};
}

ScalarValue LoopEvaluator::called(Activation& at, ComputationId callee,
                                  const std::vector<InstrId>& operands) {
  ScalarValues arguments;
  for (const InstrId operand : operands) arguments.push_back(value_of(at, operand));
  const Computation& computation = module_.at(callee);
  return evaluate(computation, computation.root, arguments);
}

ScalarValue LoopEvaluator::branch(Activation& at, const Instruction& conditional) {
  const ScalarValue& choice = value_of(at, conditional.operands[0]);
  if (!choice.is_known()) return {};
  const auto branches = static_cast<std::int64_t>(conditional.called.size());
  std::int64_t taken = choice.type == DType::kPred ? 1 - choice.value : choice.value;
  if (taken < 0 || taken >= branches) taken = branches - 1;  // as XLA does
  const auto i = static_cast<std::size_t>(taken);
  return i + 1 < conditional.operands.size()
             ? called(at, conditional.called[i], {conditional.operands[i + 1]})
             : ScalarValue{};
}

}  // namespace tilecast::ir

#include "ir/counts/trip_count.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>

#include "base/math.h"

namespace tilecast::ir {
namespace {

using Unsigned = std::uint64_t;

bool compares(std::string_view direction, std::int64_t a, std::int64_t b) {
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (direction == "LT") return a < b;
  if (direction == "LE") return a <= b;
  return direction == "GT" ? a > b : a >= b;
}

std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) return -1;
  return b == -1 ? static_cast<std::int64_t>(0 - static_cast<Unsigned>(a)) : a / b;
}

std::int64_t remainder(std::int64_t a, std::int64_t b) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}

// `a` of `type` shifted by `by` bits; a shift by the width or more gives zeros, or the sign.
Unsigned shifted(Opcode opcode, std::int64_t a, std::int64_t by, DType type) {
  const int width = bits(type);
  const bool out = by < 0 || by >= width;
  if (opcode == Opcode::kShiftRightArithmetic) {
    return static_cast<Unsigned>(a >> (out ? 63 : by));
  }
  if (out) return 0;
  if (opcode == Opcode::kShiftLeft) return static_cast<Unsigned>(a) << by;
  const Unsigned mask = width == 64 ? ~Unsigned{0} : (Unsigned{1} << width) - 1;
  return (static_cast<Unsigned>(a) & mask) >> by;
}

Unsigned binary(Opcode opcode, std::int64_t a, std::int64_t b, DType type) {
  using enum Opcode;
  const auto x = static_cast<Unsigned>(a);
  const auto y = static_cast<Unsigned>(b);
  switch (opcode) {
    case kAdd:
      return x + y;
    case kSubtract:
      return x - y;
    case kMultiply:
      return x * y;
    case kDivide:
      return static_cast<Unsigned>(quotient(a, b));
    case kRemainder:
      return static_cast<Unsigned>(remainder(a, b));
    case kMaximum:
      return static_cast<Unsigned>(std::max(a, b));
    case kMinimum:
      return static_cast<Unsigned>(std::min(a, b));
    case kAnd:
      return x & y;
    case kOr:
      return x | y;
    case kXor:
      return x ^ y;
    default:
      return shifted(opcode, a, b, type);
  }
}

ScalarValue integer_value(DType type, std::uint64_t value_bits);
bool fits(__int128 value, DType type);

ScalarValue compared(const Instruction& op, const ScalarValues& operands) {
  const auto* attrs = op.get<CompareAttrs>();
  const ScalarValue& a = operands[0];
  const ScalarValue& b = operands[1];
  if (attrs == nullptr || a.type == DType::kInvalid || b.type == DType::kInvalid ||
      a.compare != nullptr || b.compare != nullptr) {
    return {};
  }
  if (a.is_known() && b.is_known()) {
    return integer_value(DType::kPred, compares(attrs->direction, a.value, b.value) ? 1 : 0);
  }
  return {.type = DType::kPred, .compare = attrs, .elements = operands};
}

ScalarValue converted(const ScalarValue& value, DType to) {
  if (value.is_known()) {
    const bool truth = to == DType::kPred;
    return integer_value(to,
                         truth ? Unsigned{value.value != 0} : static_cast<Unsigned>(value.value));
  }
  if (value.element < 0 || value.compare != nullptr) return {};
  const bool widens =
      fits(__int128{1} << (bits(value.type) - 1), to) ||
      (is_signed_integer(value.type) == is_signed_integer(to) && bits(to) >= bits(value.type));
  if (!widens) return {};
  ScalarValue result = value;
  result.type = to;
  return result;
}

// The sum or difference of a loop-state element and a number.
ScalarValue moved(Opcode opcode, const ScalarValue& a, const ScalarValue& b) {
  const bool swapped = b.element >= 0;
  const ScalarValue& base = swapped ? b : a;
  const ScalarValue& by = swapped ? a : b;
  const bool adds = opcode == Opcode::kAdd;
  if (base.element < 0 || base.compare != nullptr || !by.is_known()) return {};
  if (arithmetic(opcode) != Arithmetic::kSum || (swapped && !adds)) return {};
  ScalarValue result = base;
  const bool overflows = adds ? __builtin_add_overflow(base.value, by.value, &result.value)
                              : __builtin_sub_overflow(base.value, by.value, &result.value);
  return overflows ? ScalarValue{} : result;
}

ScalarValue unary(Opcode opcode, const ScalarValue& value) {
  if (!value.is_known()) return {};
  const auto x = static_cast<Unsigned>(value.value);
  if (opcode == Opcode::kNot) {
    return integer_value(value.type, value.type == DType::kPred ? x ^ 1 : ~x);
  }
  const bool negates = opcode == Opcode::kNegate || value.value < 0;  // else abs
  return integer_value(value.type, negates ? 0 - x : x);
}

// Decodes the low bits(type) bits; unknown for u64 values of 2^63 and above.
ScalarValue integer_value(DType type, std::uint64_t value_bits) {
  if (type == DType::kPred) return {.type = type, .value = value_bits != 0 ? 1 : 0};
  if (!is_integer(type)) return {};
  const int unused = 64 - bits(type);
  const Unsigned top = value_bits << unused;
  if (is_signed_integer(type)) {
    return {.type = type, .value = static_cast<std::int64_t>(top) >> unused};
  }
  const Unsigned number = top >> unused;
  if (number > static_cast<Unsigned>(INT64_MAX)) return {};
  return {.type = type, .value = static_cast<std::int64_t>(number)};
}

// Whether `value` is representable in the type.
bool fits(__int128 value, DType type) {
  const int width = bits(type);
  if (is_signed_integer(type)) {
    const __int128 end = __int128{1} << (width - 1);
    return value >= -end && value < end;
  }
  return is_unsigned_integer(type) && value >= 0 && value < __int128{1} << width;
}

// The value of the scalar `op`, whose opcode has Trait::kScalar, from its operands' values.
// Integers wrap around as in XLA's evaluator. If an operand is symbolic (a loop-state element plus
// a number), the result is symbolic too, or an undecided comparison.
ScalarValue scalar_result(const Instruction& op, const ScalarValues& operands) {
  using enum Opcode;
  const auto known = [&](std::size_t i) { return operands[i].is_known(); };
  switch (op.opcode) {
    case kConvert:
      return converted(operands[0], op.shape.dtype);
    case kCompare:
      return compared(op, operands);
    case kNegate:
    case kAbs:
    case kNot:
      return unary(op.opcode, operands[0]);
    case kSelect:
      return known(0) ? operands[operands[0].value != 0 ? 1 : 2] : ScalarValue{};
    case kClamp:
      if (!known(0) || !known(1) || !known(2)) return {};
      return integer_value(operands[1].type,
                           static_cast<Unsigned>(std::min(
                               std::max(operands[0].value, operands[1].value), operands[2].value)));
    case kAnd:  // 0 and anything is 0
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
        if (known(i) && operands[i].value == 0) return operands[i];
      }
      break;
    default:
      break;
  }
  if (!known(0) || !known(1)) return moved(op.opcode, operands[0], operands[1]);
  return integer_value(op.shape.dtype,
                       binary(op.opcode, operands[0].value, operands[1].value, op.shape.dtype));
}

// Values of scalar integer code: LoopEvaluator::evaluate.

constexpr int kMaxDepth = 1000;  // of nested operands

// Shapes that can have a known value: a tuple or a single integer.
bool may_be_known(const Shape& shape) {
  if (shape.is_tuple()) return true;
  const bool integral = is_integer(shape.dtype) || shape.dtype == DType::kPred;
  return integral && std::ranges::all_of(shape.dims, [](std::int64_t dim) { return dim == 1; });
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
  const bool passes = has(op.opcode, Trait::kPassesScalar);
  if (!is_tuple && !passes && !has(op.opcode, Trait::kScalar)) return {};
  for (const InstrId operand : op.operands) operands.push_back(value_of(at, operand));
  if (is_tuple) return {.elements = std::move(operands)};
  if (!passes) return scalar_result(op, operands);
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

namespace {

using Wide = __int128;

constexpr int kMostSteps = 128;  // as in XLA

// `"known_trip_count":{"n":"8"}`, quotes may be escaped.
std::optional<std::int64_t> count_in(std::string_view config) {
  constexpr std::string_view kKey = "known_trip_count";
  const std::size_t key = config.find(kKey);
  if (key == std::string_view::npos) return std::nullopt;
  constexpr std::string_view kBetween = "\"\\':{} \t\nn";
  const std::size_t digits = config.find_first_not_of(kBetween, key + kKey.size());
  if (digits == std::string_view::npos) return std::nullopt;
  std::int64_t value = 0;
  std::size_t at = digits;
  for (; at < config.size() && config[at] >= '0' && config[at] <= '9'; ++at) {
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
        __builtin_add_overflow(value, config[at] - '0', &value)) {
      return std::nullopt;
    }
  }
  return at == digits ? std::nullopt : std::optional(value);
}

// The number of steps until the comparison of `difference` with 0 becomes false; each step adds
// `step`.
std::optional<Wide> steps_until(std::string_view direction, Wide difference, Wide step) {
  if (direction == "NE") {
    const bool meets = step != 0 && difference % step == 0 && -difference / step >= 0;
    return meets ? std::optional(-difference / step) : std::nullopt;
  }
  if (direction == "EQ") return std::nullopt;  // ends after one step; already evaluated
  const bool greater = direction.starts_with('G');
  const Wide end = direction.ends_with('E') ? 1 : 0;
  const Wide from = greater ? -difference : difference;  // counts up to `end`
  const Wide by = greater ? -step : step;
  if (by <= 0) return std::nullopt;
  return from >= end ? 0 : base::ceil_div(end - from, by);
}

// One side of a loop's comparison: where it starts and how far a step moves it.
struct Side {
  Wide start = 0, step = 0;
  Wide counter = 0;  // initial value of the state's element
  DType type, counter_type;
};

const ScalarValue& element_of(const ScalarValue& state, std::int32_t i) {
  return state.elements.empty() ? state : state.elements[static_cast<std::size_t>(i)];
}

std::optional<Side> side_of(const ScalarValue& value, const ScalarValue& state,
                            const ScalarValue& next) {
  if (value.element < 0) return Side{value.value, 0, value.value, value.type, value.type};
  const ScalarValue& first = element_of(state, value.element);
  const ScalarValue& second = element_of(next, value.element);
  if (!first.is_known() || second.element != value.element || second.compare != nullptr) {
    return std::nullopt;
  }
  return Side{Wide{first.value} + value.value, second.value, first.value, value.type, first.type};
}

// Whether neither the side nor its counter wraps around within `steps`.
bool stays_in_type(const Side& side, Wide steps) {
  const Wide way = steps * side.step;
  return fits(side.start, side.type) && fits(side.start + way, side.type) &&
         fits(side.counter + way, side.counter_type);
}

// A fully symbolic loop state: each integer stands for the state element at its position.
ScalarValue symbols(const Shape& shape) {
  const auto symbol = [](const Shape& element, std::int32_t i) -> ScalarValue {
    const bool counts = is_integer(element.dtype) && element.rank() == 0;
    return counts ? ScalarValue{.type = element.dtype, .element = i} : ScalarValue{};
  };
  if (!shape.is_tuple()) return symbol(shape, 0);
  ScalarValue state;
  for (const Shape& element : shape.elements) {
    state.elements.push_back(symbol(element, static_cast<std::int32_t>(state.elements.size())));
  }
  return state;
}

}  // namespace

std::optional<std::int64_t> known_trip_count(const Instruction& while_op) {
  return count_in(*while_op.backend_config);
}

LoopRun LoopEvaluator::run(const Instruction& while_op, const ScalarValue& state) {
  LoopRun loop;
  if (while_op.called.size() != 2) return loop;
  const Computation& condition = module_.at(while_op.called[0]);
  const Computation& body = module_.at(while_op.called[1]);
  loop.end = state;
  for (int step = 0; step <= kMostSteps; ++step) {
    const ScalarValue goes_on = evaluate(condition, condition.root, {loop.end});
    if (!goes_on.is_known()) break;
    if (goes_on.value == 0) {
      loop.trips = step;
      loop.is_stepwise = true;
      return loop;
    }
    loop.states.push_back(loop.end);
    loop.end = evaluate(body, body.root, {loop.end});
  }
  count_in_closed_form(while_op, state, loop);
  return loop;
}

void LoopEvaluator::count_in_closed_form(const Instruction& while_op, const ScalarValue& state,
                                         LoopRun& run) {
  const Computation& condition = module_.at(while_op.called[0]);
  const Computation& body = module_.at(while_op.called[1]);
  const ScalarValue any = symbols(while_op.shape);
  const ScalarValue next = evaluate(body, body.root, {any});
  ScalarValue kept = state;
  if (next.elements.size() != state.elements.size()) kept = {};
  for (std::size_t i = 0; i < kept.elements.size(); ++i) {
    const ScalarValue& after = next.elements[i];
    const bool same = after.element == static_cast<std::int32_t>(i) && after.value == 0;
    if (!same || after.compare != nullptr) kept.elements[i] = {};
  }
  run.states = {std::move(kept)};
  if (next.elements.size() != state.elements.size()) return;
  const ScalarValue test = evaluate(condition, condition.root, {any});
  if (test.compare == nullptr) return;
  const auto left = side_of(test.elements[0], state, next);
  const auto right = side_of(test.elements[1], state, next);
  if (!left || !right) return;
  const auto steps =
      steps_until(test.compare->direction, left->start - right->start, left->step - right->step);
  if (!steps || *steps > std::numeric_limits<std::int64_t>::max()) return;
  if (!stays_in_type(*left, *steps) || !stays_in_type(*right, *steps)) return;
  run.trips = static_cast<std::int64_t>(*steps);
}

std::optional<std::int64_t> trip_count(const Module& module, const Computation& caller,
                                       const Instruction& while_op) {
  if (const auto known = known_trip_count(while_op)) return known;
  LoopEvaluator loops(module);
  return loops.run(while_op, loops.evaluate(caller, while_op.operands[0], {})).trips;
}

}  // namespace tilecast::ir

#include "ir/counts/trip_count.h"

#include <limits>
#include <string_view>

#include "base/math.h"

namespace tilecast::ir {
namespace {

using Wide = __int128;

constexpr int kMaxSteps = 64;  // of looking through copies

// `"known_trip_count":{"n":"8"}`, quotes perhaps escaped.
std::optional<std::int64_t> known_trip_count(std::string_view config) {
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

// An instruction in its computation; `caller` leads out of fusions entered on the way.
struct Value {
  const Computation* computation = nullptr;
  const Instruction* op = nullptr;
  InstrId id;
  const Computation* outer = nullptr;  // where `fusion` stands, when inside one
  const Instruction* fusion = nullptr;
};

bool forwards(Opcode opcode) {
  return opcode == Opcode::kCopy || opcode == Opcode::kConvert || opcode == Opcode::kBitcast ||
         opcode == Opcode::kReshape;
}

Value value_of(const Computation& computation, InstrId id) {
  return {&computation, &computation.at(id), id, nullptr, nullptr};
}

Value operand_of(const Value& value, std::size_t i) {
  Value result = value;
  result.id = value.op->operands[i];
  result.op = &value.computation->at(result.id);
  return result;
}

// Looks through copies, conversions, and in and out of one level of fusion.
Value strip(const Module& module, Value value) {
  for (int step = 0; step < kMaxSteps; ++step) {
    const Instruction& op = *value.op;
    if (forwards(op.opcode) && op.operands.size() == 1) {
      value = operand_of(value, 0);
    } else if (op.opcode == Opcode::kFusion && value.fusion == nullptr && !op.called.empty()) {
      const Computation& callee = module.at(op.called.front());
      value = {&callee, &callee.root_instruction(), callee.root, value.computation, value.op};
    } else if (op.opcode == Opcode::kParameter && value.fusion != nullptr) {
      const auto* attrs = op.get<ParameterAttrs>();
      const auto number = attrs == nullptr ? 0 : static_cast<std::size_t>(attrs->number);
      if (number >= value.fusion->operands.size()) return value;
      value = value_of(*value.outer, value.fusion->operands[number]);
    } else {
      return value;
    }
  }
  return value;
}

Value stripped_operand(const Module& module, const Value& value, std::size_t i) {
  return strip(module, operand_of(value, i));
}

std::optional<std::int64_t> constant_of(const Value& value) {
  const auto* attrs = value.op->get<ConstantAttrs>();
  if (attrs == nullptr || !attrs->literal.is_integer || attrs->literal.integers.size() != 1) {
    return std::nullopt;
  }
  return attrs->literal.integers.front();
}

// The loop state, or one element of it.
constexpr std::int64_t kWholeState = -1;

std::optional<std::int64_t> state_element(const Module& module, const Value& value) {
  if (value.op->opcode == Opcode::kParameter && value.fusion == nullptr) return kWholeState;
  const auto* attrs = value.op->get<IndexAttrs>();
  if (value.op->opcode != Opcode::kGetTupleElement || attrs == nullptr) return std::nullopt;
  const Value source = stripped_operand(module, value, 0);
  if (source.op->opcode != Opcode::kParameter || source.fusion != nullptr) return std::nullopt;
  return attrs->index;
}

// Element `index` of the tuple `value` makes.
std::optional<Value> tuple_element(const Module& module, const Value& value, std::int64_t index) {
  if (index == kWholeState) return value;
  if (value.op->opcode != Opcode::kTuple || index < 0 ||
      index >= static_cast<std::int64_t>(value.op->operands.size())) {
    return std::nullopt;
  }
  return stripped_operand(module, value, static_cast<std::size_t>(index));
}

enum class Direction { kLess, kLessEqual, kGreater, kGreaterEqual, kNotEqual };

std::optional<Direction> direction_of(const Instruction& compare, bool swapped) {
  const auto* attrs = compare.get<CompareAttrs>();
  if (attrs == nullptr) return std::nullopt;
  const std::string_view text = attrs->direction;
  if (text == "LT") return swapped ? Direction::kGreater : Direction::kLess;
  if (text == "LE") return swapped ? Direction::kGreaterEqual : Direction::kLessEqual;
  if (text == "GT") return swapped ? Direction::kLess : Direction::kGreater;
  if (text == "GE") return swapped ? Direction::kLessEqual : Direction::kGreaterEqual;
  if (text == "NE") return Direction::kNotEqual;
  return std::nullopt;
}

// A counted loop: for (i = init; i <direction> limit; i += step).
std::optional<std::int64_t> iterations(Wide init, Wide limit, Wide step, Direction direction) {
  if (direction == Direction::kGreater || direction == Direction::kGreaterEqual) {
    init = -init;
    limit = -limit;
    step = -step;
    direction = direction == Direction::kGreater ? Direction::kLess : Direction::kLessEqual;
  }
  Wide count = 0;
  if (direction == Direction::kNotEqual) {
    if (init == limit) return 0;
    if (step == 0 || (limit - init) % step != 0) return std::nullopt;
    count = (limit - init) / step;
    if (count < 0) return std::nullopt;
  } else {
    const Wide end = direction == Direction::kLess ? limit : limit + 1;
    if (init >= end) return 0;
    if (step <= 0) return std::nullopt;
    count = base::ceil_div(end - init, step);
  }
  if (count > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(count);
}

// The parts of a while loop the pattern looks at.
class CountedLoop {
 public:
  CountedLoop(const Module& module, const Computation& caller, const Instruction& while_op)
      : module_(module),
        condition_(module.at(while_op.called[0])),
        body_root_(strip(
            module, value_of(module.at(while_op.called[1]), module.at(while_op.called[1]).root))),
        init_(strip(module, value_of(caller, while_op.operands[0]))) {}

  [[nodiscard]] std::optional<std::int64_t> count() const {
    const Value compare = strip(module_, value_of(condition_, condition_.root));
    if (compare.op->opcode != Opcode::kCompare || compare.op->operands.size() != 2) {
      return std::nullopt;
    }
    for (const bool swapped : {false, true}) {
      const Value counter = stripped_operand(module_, compare, swapped ? 1 : 0);
      const Value limit = stripped_operand(module_, compare, swapped ? 0 : 1);
      const auto element = state_element(module_, counter);
      if (!element) continue;
      const auto start = initial_constant(*element);
      const auto step = step_of(*element);
      const auto end = limit_of(limit);
      const auto direction = direction_of(*compare.op, swapped);
      if (start && step && end && direction) return iterations(*start, *end, *step, *direction);
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<std::int64_t> initial_constant(std::int64_t element) const {
    const auto value = tuple_element(module_, init_, element);
    return value ? constant_of(*value) : std::nullopt;
  }

  // A constant, or a state element that the body passes on and that starts as a constant.
  [[nodiscard]] std::optional<std::int64_t> limit_of(const Value& value) const {
    if (const auto constant = constant_of(value)) return constant;
    const auto element = state_element(module_, value);
    if (!element) return std::nullopt;
    const auto next = tuple_element(module_, body_root_, *element);
    if (!next || state_element(module_, *next) != element) return std::nullopt;
    return initial_constant(*element);
  }

  // What the body adds to the element.
  [[nodiscard]] std::optional<Wide> step_of(std::int64_t element) const {
    const auto next = tuple_element(module_, body_root_, element);
    if (!next || next->op->operands.size() != 2) return std::nullopt;
    const Value a = stripped_operand(module_, *next, 0);
    const Value b = stripped_operand(module_, *next, 1);
    const bool a_counts = state_element(module_, a) == element;
    const bool b_counts = state_element(module_, b) == element;
    if (next->op->opcode == Opcode::kAdd && (a_counts || b_counts)) {
      return constant_of(a_counts ? b : a);
    }
    if (next->op->opcode == Opcode::kSubtract && a_counts) {
      const auto constant = constant_of(b);
      if (constant) return -Wide{*constant};
    }
    return std::nullopt;
  }

  const Module& module_;
  const Computation& condition_;
  Value body_root_;
  Value init_;
};

}  // namespace

std::optional<std::int64_t> trip_count(const Module& module, const Computation& caller,
                                       const Instruction& while_op) {
  if (while_op.opcode != Opcode::kWhile) return std::nullopt;
  if (const auto known = known_trip_count(*while_op.backend_config)) return known;
  if (while_op.called.size() != 2 || while_op.operands.size() != 1) return std::nullopt;
  return CountedLoop(module, caller, while_op).count();
}

}  // namespace tilecast::ir

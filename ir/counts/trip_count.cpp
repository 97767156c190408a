#include "ir/counts/trip_count.h"

#include <limits>
#include <string_view>

#include "base/math.h"
#include "ir/counts/scalar_arithmetic.h"

namespace tilecast::ir {
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

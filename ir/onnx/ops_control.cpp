// If, Loop and Scan: conditional and while over computations built from the node's graphs.
#include <fmt/format.h>

#include "ir/onnx/graph_lowering.h"

namespace tilecast::ir::onnx_reader {
namespace {

Terms conditional(const NodeSite& s) {
  const Term chosen = s[0];
  const auto then_part = s.graph.region(s, "then_branch"),
             else_part = s.graph.region(s, "else_branch");
  if (const Numbers* known = chosen.numbers()) {
    const auto& taken = known->at(0) != 0 ? then_part : else_part;
    return s.graph.lower_region(taken, s.emitter, {}, taken.captured);
  }
  Spec spec{.opcode = Opcode::kConditional, .operands = {reshape(chosen, {})}};
  for (const auto* branch : {&then_part, &else_part}) {
    spec.called.push_back(s.emitter.computation(
        "branch", branch->captured, [&](Emitter& inner, const Terms& captured) {
          return s.graph.lower_region(*branch, inner, {}, captured);
        }));
    spec.operands.push_back(
        s.emitter.emit({.opcode = Opcode::kTuple, .operands = branch->captured}));
  }
  return elements_of(s.emitter.emit(spec));
}

// A loop whose body stacks some of its results.
struct Stacked {
  std::size_t carried;          // number of leading results that are the next state
  Dims axes;                    // stacking axis per stacked result; empty: 0
  std::vector<bool> backwards;  // stacked from the end; empty: never
};

// Result shapes of `body`, found by emitting it once to a scratch computation, and whether the
// first result is known to be true.
struct BodyResults {
  std::vector<Shape> shapes;
  bool is_true = false;
};
BodyResults results_of(const NodeSite& s, const Terms& state, const Terms& captured,
                       const LoopBody& body) {
  Module aside = s.emitter.module();
  Emitter probe(aside, "probe");
  const auto inside = [&](const Terms& outer) {
    Terms inner;
    for (const Term& term : outer) inner.push_back(probe.weight(term.shape(), "p"));
    return inner;
  };
  BodyResults results;
  const Term counter = probe.weight(Shape::array(DType::kS32, {}), "i");
  for (const Term& term : body(probe, counter, inside(state), inside(captured))) {
    const Numbers* known = term.numbers();
    if (results.shapes.empty()) results.is_true = known != nullptr && known->at(0) != 0;
    results.shapes.push_back(term.shape());
  }
  return results;
}

Terms stacked_loop(const NodeSite& s, const Turns& turns, Terms state, const Terms& captured,
                   const LoopBody& body, const Stacked& how) {
  const auto shapes = results_of(s, state, captured, body).shapes;
  if (shapes.size() < how.carried) throw Error("its graph gives fewer results than it has states");
  const std::size_t stacks = shapes.size() - how.carried;
  if (stacks > 0 && !turns.most) {
    throw Error(
        "it stacks results of a loop whose most turns are known only when the program runs; make "
        "its "
        "first input a constant");
  }
  const std::int64_t most = turns.most.value_or(0);
  const auto axis_of = [&](std::size_t i) {
    return i < how.axes.size() ? normal_axis(how.axes[i], shapes[how.carried + i].rank() + 1) : 0;
  };
  for (std::size_t i = 0; i < stacks; ++i) {
    Dims dims = shapes[how.carried + i].dims;
    dims.insert(dims.begin() + axis_of(i), most);
    state.push_back(full(s.emitter, shapes[how.carried + i].dtype, dims, 0));
  }
  return counted_loop(
      turns, state, captured,
      [&](Emitter& inner, Term counter, const Terms& before, const Terms& outside) {
        const Terms own(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(how.carried));
        Terms after = body(inner, counter, own, outside);
        for (std::size_t i = 0; i < stacks; ++i) {
          Term& part = after.at(how.carried + i);
          Dims dims = part.dims();
          dims.insert(dims.begin() + axis_of(i), 1);
          const bool turned = i < how.backwards.size() && how.backwards[i];
          const Term at = turned ? static_cast<double>(most - 1) - counter : counter;
          part = dynamic_update(before[how.carried + i], reshape(part, dims), axis_of(i), at);
        }
        return after;
      });
}

// Inputs: maximum trip count, initial condition, state. Body graph: counter, condition, state ->
// condition, state, stacked results. If the trip count is not known in advance, the first element
// of the state is the condition.
Terms loop(const NodeSite& s) {
  const auto region = s.graph.region(s, "body");
  Terms state, captured = region.captured;
  for (std::size_t i = 2; i < s.count(); ++i) state.push_back(s[i]);
  Turns turns;
  if (s.has(0)) {
    if (const Numbers* known = s[0].numbers()) turns.most = to_integer(known->at(0));
    captured.push_back(reshape(s[0], {}));
  }
  if (turns.most && (*turns.most < 0 || (*turns.most > INT32_MAX && !s.has(1)))) {
    throw Error(fmt::format("the loop runs {} times", *turns.most));
  }
  const auto inner_captured = static_cast<std::ptrdiff_t>(region.captured.size());
  const LoopBody plain = [&](Emitter& inner, Term counter, const Terms& before,
                             const Terms& outside) {
    Terms inputs = {convert(counter, DType::kS64), scalar(inner, DType::kPred, 1)};
    inputs.insert(inputs.end(), before.begin(), before.end());
    return s.graph.lower_region(region, inner, inputs,
                                Terms(outside.begin(), outside.begin() + inner_captured));
  };
  const Numbers* starts = s.has(1) ? s[1].numbers() : nullptr;
  const bool always = results_of(s, state, captured, plain).is_true;
  if (turns.most && always && (!s.has(1) || (starts != nullptr && starts->at(0) != 0))) {
    const LoopBody body = [&](Emitter& inner, Term counter, const Terms& before,
                              const Terms& outside) {
      Terms after = plain(inner, counter, before, outside);
      after.erase(after.begin());
      return after;
    };
    return stacked_loop(s, turns, state, captured, body, {.carried = state.size()});
  }
  turns.by_condition = true;
  const auto within = [&](Term again, Term counter, const Terms& outside) {
    if (!s.has(0)) return again;
    const Term most = convert(outside.back(), DType::kS64);
    return binary(Opcode::kAnd, again, compare("LT", convert(counter, DType::kS64), most));
  };
  const LoopBody body = [&](Emitter& inner, Term counter, const Terms& before,
                            const Terms& outside) {
    Terms after = plain(inner, counter, Terms(before.begin() + 1, before.end()), outside);
    after.at(0) = within(reshape(convert(after.at(0), DType::kPred), {}), counter + 1.0, outside);
    return after;
  };
  const Term first = s.has(1) ? reshape(s[1], {}) : scalar(s.emitter, DType::kPred, 1);
  state.insert(state.begin(), within(first, scalar(s.emitter, DType::kS32, 0), captured));
  Terms results = stacked_loop(s, turns, state, captured, body, {.carried = state.size()});
  results.erase(results.begin());
  return results;
}

Terms scan(const NodeSite& s) {
  if (s.version < 9) throw Error("Scan of version 8 has no mapping onto HLO");
  const auto region = s.graph.region(s, "body");
  const std::int64_t scanned = s.integer("num_scan_inputs", 0);
  if (scanned < 1 || scanned > static_cast<std::int64_t>(s.count()))
    throw Error("num_scan_inputs is out of range");
  const std::size_t carried = s.count() - static_cast<std::size_t>(scanned);
  const Dims axes =
      s.integers("scan_input_axes").value_or(Dims(static_cast<std::size_t>(scanned), 0));
  const Dims turned =
      s.integers("scan_input_directions").value_or(Dims(static_cast<std::size_t>(scanned), 0));
  const Dims out_turned = s.integers("scan_output_directions").value_or(Dims());
  Terms state, captured = region.captured;
  for (std::size_t i = 0; i < s.count(); ++i) (i < carried ? state : captured).push_back(s[i]);
  const auto axis_of = [&](std::size_t i) {
    return normal_axis(axes.at(i), s[carried + i].rank());
  };
  const std::int64_t trips = s[carried].dim(static_cast<std::size_t>(axis_of(0)));
  const LoopBody body = [&](Emitter& inner, Term counter, const Terms& before,
                            const Terms& outside) {
    Terms inputs = before;
    for (std::size_t i = 0; i < static_cast<std::size_t>(scanned); ++i) {
      const Term whole = outside.at(region.captured.size() + i);
      const Term at = turned.at(i) != 0 ? static_cast<double>(trips - 1) - counter : counter;
      Dims dims = whole.dims();
      dims.erase(dims.begin() + axis_of(i));
      inputs.push_back(reshape(dynamic_slice(whole, axis_of(i), at), dims));
    }
    return s.graph.lower_region(
        region, inner, inputs,
        Terms(outside.begin(),
              outside.begin() + static_cast<std::ptrdiff_t>(region.captured.size())));
  };
  Stacked how{carried, s.integers("scan_output_axes").value_or(Dims()), {}};
  for (const std::int64_t direction : out_turned) how.backwards.push_back(direction != 0);
  return stacked_loop(s, {trips}, state, captured, body, how);
}

constexpr OpRow kControl[] = {{"If", conditional}, {"Loop", loop}, {"Scan", scan}};

}  // namespace

std::span<const OpRow> control_rows() {
  return kControl;
}

}  // namespace tilecast::ir::onnx_reader

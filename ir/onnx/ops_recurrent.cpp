// LSTM, GRU and RNN: one product for the inputs of all steps, then a loop over the steps.
// Equations: onnx.ai/onnx/operators, LSTM, GRU, RNN.
#include <fmt/format.h>

#include <cmath>

#include "ir/onnx/node_site.h"

namespace tilecast::ir::onnx_reader {
namespace {

struct Direction {
  std::int64_t number = 0;
  bool backwards = false;
};

Term activated(const std::string& name, Term x) {
  if (name == "Sigmoid") return unary(Opcode::kLogistic, x);
  if (name == "Tanh") return unary(Opcode::kTanh, x);
  if (name == "Relu") return maximum(x, 0);
  throw Error(fmt::format("activation {} has no mapping onto HLO", name));
}

// The name of activation `i` of `count` per direction.
std::string activation(const NodeSite& s, const Direction& direction, int i, int count) {
  const auto* names = s.find("activations");
  const int at = static_cast<int>(direction.number) * count + i;
  if (names != nullptr && at < names->strings_size()) return names->strings(at);
  return i == 0 && count > 1 ? "Sigmoid" : "Tanh";
}

// The part of an input [directions, ...] that belongs to one direction.
Term of_direction(Term x, const Direction& direction) {
  return reshape(slice(x, 0, {direction.number, direction.number + 1, 1}),
                 Dims(x.dims().begin() + 1, x.dims().end()));
}

// The columns of gate `i`; all gates have width `hidden`.
Term gate(Term x, std::int64_t hidden, std::int64_t i) {
  return slice(x, x.rank() - 1, {i * hidden, (i + 1) * hidden, 1});
}

Term product_with_rows(Term x, Term w) {  // x . w^T
  return dot(x, w, {.lhs_contracting = {x.rank() - 1}, .rhs_contracting = {1}});
}

// What a step of the loop uses: the products of its input, recurrent weights and bias, and the
// state.
struct Step {
  const NodeSite& s;
  Direction direction;
  std::int64_t hidden;
  Term inputs;   // [batch, gates * hidden], input bias added
  Term weights;  // [gates * hidden, hidden]
  Term bias;     // [gates * hidden], recurrent
  Terms state;
};

Terms lstm_step(const Step& step) {
  const auto act = [&](int i, Term x) {
    return activated(activation(step.s, step.direction, i, 3), x);
  };
  const Term gates = step.inputs + product_with_rows(step.state[0], step.weights) + step.bias;
  const auto part = [&](std::int64_t i) { return gate(gates, step.hidden, i); };
  const Term in = act(0, part(0)), out = act(0, part(1)), forget = act(0, part(2));
  const Term cell = forget * step.state[1] + in * act(1, part(3));
  return {out * act(2, cell), cell};
}

Terms gru_step(const Step& step) {
  const auto act = [&](int i, Term x) {
    return activated(activation(step.s, step.direction, i, 2), x);
  };
  const std::int64_t h = step.hidden;
  const Term before = step.state[0];
  const Term own_bias = slice(step.bias, 0, {2 * h, 3 * h, 1});
  const auto rows = [&](std::int64_t from, std::int64_t to) {
    return slice(step.weights, 0, {from * h, to * h, 1});
  };
  const Term both = product_with_rows(before, rows(0, 2)) + slice(step.bias, 0, {0, 2 * h, 1});
  const Term update = act(0, gate(step.inputs, h, 0) + gate(both, h, 0));
  const Term reset = act(0, gate(step.inputs, h, 1) + gate(both, h, 1));
  const Term inner = step.s.flag("linear_before_reset")
                         ? reset * (product_with_rows(before, rows(2, 3)) + own_bias)
                         : product_with_rows(reset * before, rows(2, 3)) + own_bias;
  const Term fresh = act(1, gate(step.inputs, h, 2) + inner);
  return {fresh + update * (before - fresh)};
}

Terms rnn_step(const Step& step) {
  const Term sum = step.inputs + product_with_rows(step.state[0], step.weights) + step.bias;
  return {activated(activation(step.s, step.direction, 0, 1), sum)};
}

using StepFunction = Terms (*)(const Step&);

// Y [steps, batch, hidden], then the last state, for one direction.
Terms run_direction(const NodeSite& s, Term x, const Direction& direction, std::int64_t gates,
                    StepFunction step) {
  const Term weights = of_direction(of_rank(s[1], 3, 3), direction),
             recurrent = of_direction(of_rank(s[2], 3, 3), direction);
  const std::int64_t hidden = recurrent.dims().back(), steps = x.dim(0), batch = x.dim(1),
                     width = product({gates, hidden});
  Term inputs = product_with_rows(x, weights);
  Term bias = full(s.emitter, x.dtype(), {width}, 0);
  if (s.has(3)) {
    const Term both = of_direction(of_rank(s[3], 2, 2), direction);
    inputs = inputs + slice(both, 0, {0, width, 1});
    bias = slice(both, 0, {width, product({2, width}), 1});
  }
  Terms state;
  const std::size_t states = gates == 4 ? 2 : 1;
  for (std::size_t i = 0; i < states; ++i) {
    state.push_back(s.has(5 + i) ? of_direction(of_rank(s[5 + i], 3, 3), direction)
                                 : full(s.emitter, x.dtype(), {batch, hidden}, 0));
  }
  state.push_back(full(s.emitter, x.dtype(), {steps, batch, hidden}, 0));
  Terms captured = {inputs, recurrent, bias};
  if (s.has(4)) captured.push_back(s[4]);
  Terms after = counted_loop(
      {steps}, state, captured,
      [&](Emitter&, Term counter, const Terms& before, const Terms& outside) {
        const Term at = direction.backwards ? static_cast<double>(steps - 1) - counter : counter;
        const Term now = reshape(dynamic_slice(outside[0], 0, at), {batch, width});
        Terms next = step({s, direction, hidden, now, outside[1], outside[2], before});
        Term result = next[0];
        if (outside.size() > 3) {  // ended sequences keep their state and output 0
          const Term runs = compare("LT", convert(at, outside[3].dtype()), outside[3]);
          const Term mask = broadcast_in(runs, {batch, hidden}, {0});
          for (std::size_t i = 0; i < states; ++i) next[i] = select(mask, next[i], before[i]);
          result = select(mask, result, like(result, 0));
        }
        next.push_back(dynamic_update(before[states], reshape(result, {1, batch, hidden}), 0, at));
        return next;
      });
  std::rotate(after.begin(), after.end() - 1, after.end());
  return after;
}

template <std::int64_t gates, StepFunction step>
Terms recurrent(const NodeSite& s) {
  if (s.has(7) || s.find("clip") != nullptr || s.flag("input_forget")) {
    throw Error("peepholes, clip and input_forget have no mapping onto HLO");
  }
  const bool batch_first = s.flag("layout");
  if (batch_first && (s.has(5) || s.has(6)))
    throw Error("initial states with layout 1 have no mapping onto HLO");
  const Term x = batch_first ? transpose(s[0], {1, 0, 2}) : of_rank(s[0], 3, 3);
  const std::string way = s.text("direction", "forward");
  std::vector<Terms> parts;  // per result: one term per direction
  for (std::int64_t d = 0; d < (way == "bidirectional" ? 2 : 1); ++d) {
    const Terms made = run_direction(s, x, {d, way == "reverse" || d == 1}, gates, step);
    parts.resize(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      Dims dims = made[i].dims();  // Y: [steps, directions, batch, hidden]; states without steps
      dims.insert(dims.begin() + (i == 0 ? 1 : 0), 1);
      parts[i].push_back(reshape(made[i], dims));
    }
  }
  Terms results;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Term all = concatenate(parts[i], i == 0 ? 1 : 0);
    results.push_back(!batch_first ? all
                      : i == 0     ? transpose(all, {2, 0, 1, 3})
                                   : transpose(all, {1, 0, 2}));
  }
  return results;
}

constexpr OpRow kRecurrent[] = {{"LSTM", recurrent<4, lstm_step>},
                                {"GRU", recurrent<3, gru_step>},
                                {"RNN", recurrent<1, rnn_step>}};

}  // namespace

std::span<const OpRow> recurrent_rows() {
  return kRecurrent;
}

}  // namespace tilecast::ir::onnx_reader

// The execution order of a computation's instructions, and the dependence and call graphs.
#pragma once

#include <utility>
#include <vector>

#include "ir/graph_order.h"
#include "ir/hlo.h"

namespace tilecast::ir {

// Edges from operands and control predecessors to the instructions that wait for them.
[[nodiscard]] std::vector<GraphEdge> dependence_edges(const Computation& computation);

// The users of every instruction, without duplicates, in the order of the text.
using UserLists = std::vector<std::vector<InstrId>>;
[[nodiscard]] UserLists user_lists(const Computation& computation);
// By instruction: whether it needs the result of `from`, directly or through others.
[[nodiscard]] std::vector<bool> dependents(const UserLists& users, InstrId from);

// Calls change(InstrId&) for the instructions that `op` waits for: operands, control predecessors.
template <class Change>
void change_sources(Instruction& op, const Change& change) {
  for (InstrId& operand : op.operands) change(operand);
  if (op.control_predecessors->empty()) return;
  for (InstrId& before : op.control_predecessors.edit()) change(before);
}

// Per computation, whether it is scheduled: the entry, and whatever loops, branches and calls run
// from there. The others are parts of single ops.
[[nodiscard]] std::vector<bool> sequential_computations(const Module& module);

// Whether operands and control predecessors come first in the text.
[[nodiscard]] bool in_order(const Computation& computation);
// The order of the text if operands and control predecessors come first, as in scheduled modules;
// otherwise the topological order nearest to it. Throws Error on a cycle. Linear time if the text
// is already in order.
[[nodiscard]] std::vector<InstrId> schedule_order(const Computation& computation);

// Makes the computation anew, in schedule_order(): `place` takes an instruction whose sources are
// those in the new computation, appends what stands for it, and returns the id of its result.
template <class Place>
void rebuild(Computation& computation, const Place& place) {
  const std::vector<InstrId> order = schedule_order(computation);
  std::vector<Instruction> old = std::exchange(computation.instructions, {});
  computation.instructions.reserve(old.size());
  std::vector<InstrId> moved(old.size());
  const auto move = [&](InstrId& id) { id = moved[id.index()]; };
  for (const InstrId id : order) {
    Instruction& op = old[id.index()];
    change_sources(op, move);
    moved[id.index()] = place(std::move(op));
  }
  for (InstrId& parameter : computation.parameters) move(parameter);
  move(computation.root);
}

// Depth-first post-order from `roots`; control predecessors are visited first, then operands from
// first to last.
[[nodiscard]] std::vector<InstrId> depth_first_order(const Computation& computation,
                                                     const std::vector<std::uint32_t>& roots);
// The instructions that are not an operand of any other.
[[nodiscard]] std::vector<std::uint32_t> unused_instructions(const Computation& computation);
// Depth-first order of all instructions, from the root and then from the other unused instructions
// by name. Independent of the order of the text.
[[nodiscard]] std::vector<InstrId> order_by_content(const Computation& computation);

}  // namespace tilecast::ir

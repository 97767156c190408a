// The order in which a computation's instructions run, and the graphs of instructions and calls.
#pragma once

#include <vector>

#include "ir/graph_order.h"
#include "ir/hlo.h"

namespace tilecast::ir {

// From operands and control predecessors to the instructions that wait for them.
[[nodiscard]] std::vector<GraphEdge> dependence_edges(const Computation& computation);

// The users of every instruction, each listed once, in the order of the text.
using UserLists = std::vector<std::vector<InstrId>>;
[[nodiscard]] UserLists user_lists(const Computation& computation);

// From callers to callees, in the order of the text.
[[nodiscard]] std::vector<GraphEdge> call_edges(const Module& module);

// Whether the instructions of each computation run one after the other: entry, loops, branches,
// calls.
[[nodiscard]] std::vector<bool> sequential_computations(const Module& module);

// Textual order where it has operands (and control predecessors) first, as in scheduled modules;
// otherwise the topological order that stays nearest to it. Throws Error on a cycle. Linear when
// the text is already in order.
[[nodiscard]] std::vector<InstrId> schedule_order(const Computation& computation);

// Depth-first post-order from `roots`; operands are entered first to last, after the control
// predecessors.
[[nodiscard]] std::vector<InstrId> depth_first_order(const Computation& computation,
                                                     const std::vector<std::uint32_t>& roots);
// The instructions that are no operand of another.
[[nodiscard]] std::vector<std::uint32_t> unused_instructions(const Computation& computation);
// The depth-first order from the root, then from what else nobody uses, by name: the same however
// the text was ordered. Of all instructions.
[[nodiscard]] std::vector<InstrId> order_by_content(const Computation& computation);

}  // namespace tilecast::ir

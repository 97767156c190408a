// The execution order of a computation's instructions, and the dependence and call graphs.
#pragma once

#include <vector>

#include "ir/graph_order.h"
#include "ir/hlo.h"

namespace tilecast::ir {

// Edges from operands and control predecessors to the instructions that wait for them.
[[nodiscard]] std::vector<GraphEdge> dependence_edges(const Computation& computation);

// The users of every instruction, without duplicates, in the order of the text.
using UserLists = std::vector<std::vector<InstrId>>;
[[nodiscard]] UserLists user_lists(const Computation& computation);

// Per computation, whether it is scheduled: the entry, and whatever loops, branches and calls run
// from there. The others are parts of single ops.
[[nodiscard]] std::vector<bool> sequential_computations(const Module& module);

// The order of the text if operands and control predecessors come first, as in scheduled modules;
// otherwise the topological order nearest to it. Throws Error on a cycle. Linear time if the text
// is already in order.
[[nodiscard]] std::vector<InstrId> schedule_order(const Computation& computation);

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

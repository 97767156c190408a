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

}  // namespace tilecast::ir

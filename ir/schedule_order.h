// The order in which a computation's instructions run.
#pragma once

#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir {

// Textual order where it has operands (and control predecessors) first, as in scheduled modules;
// otherwise the topological order that stays nearest to it. Throws Error on a cycle. Linear when
// the text is already in order.
[[nodiscard]] std::vector<InstrId> schedule_order(const Computation& computation);

}  // namespace tilecast::ir

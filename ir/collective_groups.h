// How many devices take part in one group of a collective.
#pragma once

#include "ir/hlo.h"

namespace tilecast::ir {

// From the replica groups and how XLA reads their ids (replicas, partitions, both, or global ids),
// the source-target pairs, or, when the groups are left empty, the module's replica and partition
// counts. 2 for send and receive, 1 for anything that is not a collective.
// Source: XLA's GetCollectiveOpGroupMode.
[[nodiscard]] std::int64_t group_size(const Module& module, const Instruction& instruction);

}  // namespace tilecast::ir

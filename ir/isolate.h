// One instruction of a module as a module of its own: its entry has a parameter per array the
// instruction reads (scalar constants stay constants) and the instruction as its root; the
// computations it calls come along. Verified. Names are kept where they are unique.
#pragma once

#include <string>

#include "ir/hlo.h"

namespace tilecast::ir {

[[nodiscard]] Module isolate(const Module& module, ComputationId computation, InstrId instruction,
                             const std::string& name);

}  // namespace tilecast::ir

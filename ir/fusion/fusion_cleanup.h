// What is tidied before fusing: dead code, annotations and reshapes that do nothing.
#pragma once

#include "ir/hlo.h"

namespace tilecast::ir {

// The computation in an order that has operands first, without instructions that nothing needs,
// annotation custom-calls and reshapes to the same dimensions; reshapes that keep the order of the
// tiles (only ones added or removed, or only major dimensions regrouped) become bitcasts.
[[nodiscard]] Computation tidied(Computation computation);

}  // namespace tilecast::ir

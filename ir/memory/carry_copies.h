// Copies of loops' values that cannot be updated in place.
#pragma once

#include "ir/hlo.h"

namespace tilecast::ir {

// In every loop, what an iteration leaves for the next lies where it found it. Adds a copy at the
// end of the body where the new value cannot be written over the old one: it reads the old one
// elsewhere than where it writes, or something that needs the new value reads the old one. Call it
// after fusion. Source: XLA's CopyInsertion (openxla/xla, public source).
[[nodiscard]] Module with_carry_copies(Module module);

}  // namespace tilecast::ir

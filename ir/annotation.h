// Custom calls that only annotate their operand and take no time on the device.
#pragma once

#include "ir/hlo.h"

namespace tilecast::ir {

// Sharding and placement marks of JAX and XLA ("Sharding", "SPMDFullToShardShape",
// "annotate_device_placement" ...) that later passes remove: the result is operand 0.
[[nodiscard]] bool is_annotation(const Instruction& instruction);

}  // namespace tilecast::ir

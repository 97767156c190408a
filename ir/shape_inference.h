// The result shape an instruction must have, from its operands and attributes (specs/hlo.md 2.8.1).
// Layouts: not inferred (result has none). Thread-safe.
#pragma once

#include <optional>

#include "ir/hlo.h"

namespace tilecast::ir {

// Nothing when the opcode's shape is given, not inferred (parameter, custom-call, bitcast ...).
// Throws Error (message only, no position) when the operands cannot be combined.
[[nodiscard]] std::optional<Shape> infer_shape(const Module& module, const Computation& computation,
                                               const Instruction& instruction);

// Output extent of one window dimension over `size` elements (2.8.1, reduce-window).
[[nodiscard]] std::int64_t window_output_size(std::int64_t size, const WindowDim& window);

}  // namespace tilecast::ir

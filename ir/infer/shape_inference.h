// The result shape an instruction must have, from its operands and attributes (XLA's operation
// semantics, openxla.org/xla/operation_semantics). Layouts are not inferred: arrays that are
// computed have none; what is passed through (tuple, get-tuple-element, copy, while, call ...)
// keeps its own. Operands with unbounded dimensions (`?`) are not checked. Thread-safe.
#pragma once

#include <optional>

#include "ir/hlo.h"

namespace tilecast::ir {

// Nothing when the opcode's shape is given, not inferred (parameter, custom-call, bitcast,
// broadcast, reshape ...). Where the text chooses the element type (convert, dot), that of
// `instruction.shape` is taken if it is set.
// Throws Error (message only, no position) when the operands cannot be combined.
[[nodiscard]] std::optional<Shape> infer_shape(const Module& module, const Computation& computation,
                                               const Instruction& instruction);

// Output extent of one window dimension over `size` elements: floor((padded - window) / stride) + 1
// with both dilations applied, 0 where the window does not fit. Throws Error on overflow.
[[nodiscard]] std::int64_t window_output_size(std::int64_t size, const WindowDim& window);

}  // namespace tilecast::ir

// Infers the result shape of an instruction from its operands and attributes (XLA's operation
// semantics, openxla.org/xla/operation_semantics). Layouts are not inferred: computed arrays have
// none; arrays that are passed through (tuple, get-tuple-element, copy, while, call ...) keep
// theirs. Operands with unbounded dimensions (`?`) are not checked. Thread-safe.
#pragma once

#include <optional>

#include "ir/hlo.h"

namespace tilecast::ir {

// Returns nullopt for opcodes whose shape is given rather than inferred (parameter, custom-call,
// bitcast, broadcast, reshape ...). For opcodes whose element type is free (convert, dot), the type
// of `instruction.shape` is used if it is set. Throws Error (message without position) if the
// operands cannot be combined.
[[nodiscard]] std::optional<Shape> infer_shape(const Module& module, const Computation& computation,
                                               const Instruction& instruction);

// Output extent of one window dimension over `size` elements: floor((padded - window) / stride) + 1
// with both dilations applied; 0 if the window does not fit. Throws Error on overflow.
[[nodiscard]] std::int64_t window_output_size(std::int64_t size, const WindowDim& window);

}  // namespace tilecast::ir

// The per-op rules of footprint.h: the region of an operand that a region of the result needs
// (backward), and the region of the result that a region of an operand determines (forward).
//
// Convolution, pooling: input = (output - 1) * stride + (window - 1) * dilation + 1 (XLA operation
// semantics). Reshape, gather, bitcast and other irregular maps preserve the number of elements.
// Pure functions; the caller sets Step::source_group.
#pragma once

#include "analytical/footprint.h"

namespace tilecast::analytical {

// The array that represents an op: its shape, or the first array of a tuple.
[[nodiscard]] const ir::Shape& region_shape(const ir::Shape& shape);
// The whole array, whatever the tile.
[[nodiscard]] Step whole_step(const ir::Shape& shape);
// Same number of elements as the source (rank `source_rank`), filled from the minor dimension.
[[nodiscard]] Step volume_step(int source_rank, const ir::Shape& shape);
// Whether the step keeps every extent.
[[nodiscard]] bool is_identity(const Step& step, const ir::Shape& source_shape);

// Reshape: runs of dimensions with the same number of elements map to each other; a bitcast goes by
// the order in memory. If a run neither splits nor merges, only the volume is preserved.
[[nodiscard]] Step reshape_step(const ir::Op& op, const ir::Shape& source, const ir::Shape& shape);
[[nodiscard]] Step backward_step(const ir::Kernel& kernel, const ir::Op& op, std::size_t operand);
[[nodiscard]] Step forward_step(const ir::Kernel& kernel, const ir::Op& op, std::size_t operand);
// Region of operand `operand` of the anchoring dot or convolution, from the loops.
[[nodiscard]] Step matrix_step(const ir::Kernel& kernel, const IterationSpace& space,
                               std::size_t operand);
// False for operands that only parameterise an op: indices, initial values, pad values.
[[nodiscard]] bool carries_region(const ir::Kernel& kernel, const ir::Op& op, std::size_t operand);

}  // namespace tilecast::analytical

// The per-op rules behind footprint.h: how a region of a result maps to the region of an operand
// that it needs (backward), and how a region of an operand maps to the region of the result that
// can be made from it (forward).
//
// Convolution, pooling: input = (output - 1) * stride + (window - 1) * dilation + 1 (XLA operation
// semantics). Reshape, gather, bitcast and other irregular maps keep the number of elements.
// Pure functions; the caller sets Step::source_group.
#pragma once

#include "analytical/footprint.h"

namespace tilecast::analytical {

// The array whose extents stand for an op's: its shape, or the first array of a tuple.
[[nodiscard]] const ir::Shape& region_shape(const ir::Shape& shape);
// The whole array, whatever the tile.
[[nodiscard]] Step whole_step(const ir::Shape& shape);
// As many elements as the source has (rank `source_rank`), filled from the minor dimension.
[[nodiscard]] Step volume_step(int source_rank, const ir::Shape& shape);
// Same extents, dimension by dimension?
[[nodiscard]] bool is_identity(const Step& step, const ir::Shape& source_shape);

// Reshape: runs of dimensions that hold equally many elements map to each other, those of a bitcast
// in the order in which they lie in memory; what is neither split nor merged keeps the volume.
[[nodiscard]] Step reshape_step(const ir::Op& op, const ir::Shape& source, const ir::Shape& shape);
[[nodiscard]] Step backward_step(const ir::Kernel& kernel, const ir::Op& op, std::size_t operand);
[[nodiscard]] Step forward_step(const ir::Kernel& kernel, const ir::Op& op, std::size_t operand);
// Operand `operand` of the anchoring dot or convolution, from the loops themselves.
[[nodiscard]] Step matrix_step(const ir::Kernel& kernel, const IterationSpace& space,
                               std::size_t operand);
// False for operands that only parameterise an op: indices, initial values, pad values.
[[nodiscard]] bool carries_region(const ir::Kernel& kernel, const ir::Op& op, std::size_t operand);

}  // namespace tilecast::analytical

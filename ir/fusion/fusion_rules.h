// Which instructions may be fused: properties of single instructions on which
// ir/fusion/fusion_planner.h bases its decisions. Sources: XLA's public InstructionFusion and TPU
// dumps.
#pragma once

#include "ir/hlo.h"

namespace tilecast::ir {

// True if elements map one to one, in order: elementwise ops, converts, bitcasts, copies.
[[nodiscard]] bool streams(const Instruction& op);
// Whether the op may be part of a fusion, as root or producer. Collectives, control flow, custom
// calls, sorts, random numbers, tuples and ops with control dependences may not.
[[nodiscard]] bool is_fusible(const Instruction& op);
// Whether the op may be computed inside the kernel that uses it.
[[nodiscard]] bool fuses_into_users(const Instruction& op);
// Whether the op may be recomputed in several kernels: broadcasts, iotas, widening converts,
// scalars.
[[nodiscard]] bool may_be_duplicated(const Computation& computation, const Instruction& op);
// True if is_expensive(), or if the op computes transcendental functions or divides floats.
[[nodiscard]] bool is_costly(const Instruction& op);

// Whether a GPU's product may take the op on its way in or out of the product: changes of view or
// type, and arithmetic with a scalar or a vector.
[[nodiscard]] bool is_light(const Computation& computation, const Instruction& op);

// Whether XLA:CPU computes the op on its own, beside a kernel that holds a product or not: it calls
// libraries for products and reductions, and nothing is computed on the way into a product.
[[nodiscard]] bool is_called_alone(const Instruction& op, bool beside_product);
[[nodiscard]] bool is_matrix(const Instruction& op);  // convolution or dot: the one hero
[[nodiscard]] bool is_reduction(const Instruction& op);
// True for ops that update their first operand in place: dynamic-update-slice, scatter.
[[nodiscard]] bool updates_in_place(const Instruction& op);
// Whether `user` reads elements of its operand more than once.
[[nodiscard]] bool reuses_operand(const Computation& computation, const Instruction& user,
                                  std::size_t operand);
// Whether `producer`, the given operand of `user`, may be computed in the kernel of `user`.
[[nodiscard]] bool accepts_producer(const Computation& computation, const Instruction& user,
                                    std::size_t operand, const Instruction& producer);

// Whether `producer` reads the array that `update` changes in place elsewhere than where it does.
[[nodiscard]] bool reads_what_changes(const Instruction& producer, const Instruction& update);
// Whether the op has the elements of its only operand, in another shape.
[[nodiscard]] bool keeps_elements(const Computation& computation, const Instruction& op);
// Whether the broadcast repeats its operand along the minor dimensions only: a value per row.
[[nodiscard]] bool repeats_rows(const Computation& computation, const Instruction& broadcast);
// Whether the reduction takes the minor dimensions only, and in one step: a value per row.
[[nodiscard]] bool reduces_rows(const Computation& computation, const Instruction& reduction);

// Whether the operand is a transposition that a GPU's libraries cannot read through: one that moves
// batch dimensions of a product, or any in front of a convolution.
[[nodiscard]] bool needs_transposition(const Computation& computation, const Instruction& dot,
                                       std::size_t operand);

// Whether the op takes elements from places that its result's windows do not state (XLA:TPU reads
// such operands from arrays: in its dumps 2,139 of 2,175 slices with steps, pads, dynamic slices
// and windows read a parameter of their kernel, and what is no parameter changes no element).
[[nodiscard]] bool picks_elements(const Instruction& op);
// Whether the op is a convolution of each feature by itself.
[[nodiscard]] bool is_depthwise(const Computation& computation, const Instruction& op);
// Whether XLA:TPU fuses nothing with the op: a pad between elements, a copy into another layout.
[[nodiscard]] bool stands_alone(const Computation& computation, const Instruction& op);

// Dimensions except those of size one. Shapes with equal loop_dims() have the same loop nest.
[[nodiscard]] Dims loop_dims(const Shape& shape);
// The dimensions of what a reduction reads, and those that it takes. Reductions share a loop nest
// if both are equal; every reduce-window has its own.
[[nodiscard]] Dims reduced_loop(const Computation& computation, const Instruction& reduction);
[[nodiscard]] Dims reduced_dims(const Computation& computation, const Instruction& reduction);
// Elements and bytes as doubles, for comparisons without overflow.
[[nodiscard]] double elements(const Shape& shape);
[[nodiscard]] double bytes(const Shape& shape);

}  // namespace tilecast::ir

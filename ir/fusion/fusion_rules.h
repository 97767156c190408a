// What may be fused with what: properties of single instructions that ir/fusion/fusion_planner.h
// decides from. Facts of XLA's public instruction fusion and of what TPU dumps show
// (InstructionFusion).
#pragma once

#include "ir/hlo.h"

namespace tilecast::ir {

// Elements map one to one, in order: elementwise ops, converts, bitcasts, copies.
[[nodiscard]] bool streams(const Instruction& op);
// May become part of a fusion at all (as root or producer); collectives, control flow, custom
// calls, sorts, random numbers, tuples and everything with control dependences may not.
[[nodiscard]] bool is_fusible(const Instruction& op);
// May be computed inside the kernel that uses it.
[[nodiscard]] bool fuses_into_users(const Instruction& op);
// May be recomputed in several kernels: broadcasts, iotas, widening converts, scalars.
[[nodiscard]] bool may_be_duplicated(const Computation& computation, const Instruction& op);
// XLA's is_expensive, or an op that computes transcendental functions or divides floats.
[[nodiscard]] bool is_costly(const Instruction& op);

[[nodiscard]] bool is_matrix(const Instruction& op);  // convolution or dot: the one hero
[[nodiscard]] bool is_reduction(const Instruction& op);
// An op that runs in place on its first operand: dynamic-update-slice, scatter.
[[nodiscard]] bool updates_in_place(const Instruction& op);
// Whether `user` reads elements of its operand more than once.
[[nodiscard]] bool reuses_operand(const Computation& computation, const Instruction& user,
                                  std::size_t operand);
// Whether `user` lets its operand be computed in its own kernel; `producer` is that operand.
[[nodiscard]] bool accepts_producer(const Computation& computation, const Instruction& user,
                                    std::size_t operand, const Instruction& producer);

// Dimensions without those of size one: shapes with equal ones have the same loop nest.
[[nodiscard]] Dims loop_dims(const Shape& shape);
// Elements and bytes as doubles: for comparing, never overflowing.
[[nodiscard]] double elements(const Shape& shape);
[[nodiscard]] double bytes(const Shape& shape);

}  // namespace tilecast::ir

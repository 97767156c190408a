// Splits a fused kernel into the launches of a system that fuses less.
//
//   auto steps = split_kernel(softmax, Launches::kPerReduction);   // max, sum, divide
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace tilecast::ir {

enum class Launches {
  kFused,         // one kernel
  kPerReduction,  // like a compiler that fuses elementwise ops into their users, up to each
                  // reduction
  kPerProduct,    // like a library that runs a graph of products: products, reductions,
                  // transcendental functions and what a product reads, each on its own, through the
                  // cores' own caches
  kPerOp,  // like an interpreter: one launch per op, with its constants, broadcasts and conversions
};

// Returns the kernels in launch order; values passed between launches are arrays in memory. With
// kPerReduction, a value needed by several launches is recomputed in each. Work is counted as by
// XLA: one operation per element for an elementwise op, one per eliminated element for a reduction.
// Throws Error if the kernel has ops other than elementwise ops, broadcasts, constants and
// reductions, unless kPerProduct is asked for. Thread-safe.
[[nodiscard]] std::vector<Kernel> split_kernel(const Kernel& kernel, Launches launches);

// The part of a kernel that computes only the given outputs (by position), with in-place updates as
// before. Its work is not counted.
[[nodiscard]] Kernel kernel_of_outputs(const Kernel& kernel, std::span<const std::size_t> outputs);

}  // namespace tilecast::ir

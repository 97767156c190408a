// A fused kernel as the several launches of a system that fuses less.
//
//   std::vector<Kernel> steps = split_kernel(softmax, Launches::kPerReduction);   // max, sum,
//   divide
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace tilecast::ir {

enum class Launches {
  kFused,         // one kernel
  kPerReduction,  // a compiler that fuses elementwise work into what follows, up to a reduction
  kPerOp,         // an interpreter: every op, its constants, broadcasts and conversions with it
};

// In the order of launching; values between launches are arrays in memory. What several launches
// need is computed in each (kPerReduction). Work is counted as XLA counts it: an elementwise op is
// one operation per element, a reduction one per element that goes away. Throws Error for kernels
// that hold anything but elementwise ops, broadcasts, constants and reductions. Thread-safe.
[[nodiscard]] std::vector<Kernel> split_kernel(const Kernel& kernel, Launches launches);

// A kernel that makes some of the outputs (their positions) alone: what they need, updated in place
// as before. Its work is not counted.
[[nodiscard]] Kernel kernel_of_outputs(const Kernel& kernel, std::span<const std::size_t> outputs);

}  // namespace tilecast::ir

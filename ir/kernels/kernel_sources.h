// A kernel together with the sources of the arrays it reads, which connect the kernels of a
// program.
//
//   const WiredKernel wired = make_wired_kernel(module, module.entry, id, counter);
//   // wired.kernel.parameters()[i] is leaf `wired.parameters[i].leaf` of that instruction's result
#pragma once

#include <cstddef>
#include <vector>

#include "ir/kernel.h"

namespace tilecast::ir {

struct ArraySource {
  InstrId instruction;   // in the computation that contains the kernel
  std::size_t leaf = 0;  // leaf of its shape, depth first; 0 for an array
};

struct WiredKernel {
  Kernel kernel;                        // as make_kernel()
  std::vector<ArraySource> parameters;  // one per kernel.parameters()
};

// The kernel of an asynchronous start reads the operands of the start. Throws Error as
// make_kernel() does. Thread-safe if each thread has its own counter.
[[nodiscard]] WiredKernel make_wired_kernel(const Module& module, ComputationId computation,
                                            InstrId instruction, WorkCounter& counter);

}  // namespace tilecast::ir

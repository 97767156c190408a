// A kernel of a computation together with where the arrays it reads come from: what connects the
// kernels of a program.
//
//   const WiredKernel wired = make_wired_kernel(module, module.entry, id, counter);
//   // wired.kernel.parameters()[i] is leaf `wired.parameters[i].leaf` of that instruction's result
#pragma once

#include <cstddef>
#include <vector>

#include "ir/kernel.h"

namespace tilecast::ir {

struct ArraySource {
  InstrId instruction;   // of the computation the kernel stands in
  std::size_t leaf = 0;  // of its shape: all leaves counted, depth first; 0 for an array
};

struct WiredKernel {
  Kernel kernel;                        // as make_kernel()
  std::vector<ArraySource> parameters;  // one per kernel.parameters()
};

// Kernels of an asynchronous start read what the start reads. Errors as make_kernel(). Thread-safe
// with a counter of its own.
[[nodiscard]] WiredKernel make_wired_kernel(const Module& module, ComputationId computation,
                                            InstrId instruction, WorkCounter& counter);

}  // namespace tilecast::ir

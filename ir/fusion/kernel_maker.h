// Kernels of a plan one at a time, without the program around them: what a search asks for when a
// choice makes a kernel that it has not met.
//
//   KernelMaker maker(laid_out);           // a tidied module; outlives the maker
//   Kernel kernel = maker.make(id, plan[3]);
//
// Equal to the kernel that the program under this plan launches, but for its name. Not thread-safe.
#pragma once

#include "ir/fusion/fusion_space.h"
#include "ir/kernel.h"

namespace tilecast::ir {

class KernelMaker {
 public:
  explicit KernelMaker(const Module& module);
  [[nodiscard]] Kernel make(ComputationId computation, const FusedKernel& kernel);

 private:
  // The kernel's members, what they read as parameters, and its roots as results.
  [[nodiscard]] Computation excerpt(const Computation& computation, FusedKernel& kernel) const;

  const Module& module_;
  Module scratch_;  // what kernels call; sequential computations are empty
};

}  // namespace tilecast::ir

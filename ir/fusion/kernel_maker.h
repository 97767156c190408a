// Builds the kernels of a plan one at a time, without the rest of the program. A search uses it
// when a choice leads to a kernel that it has not seen before.
//
//   KernelMaker maker(laid_out);           // a tidied module; outlives the maker
//   Kernel kernel = maker.make(id, plan[3]);
//
// Except for its name, the kernel equals the one that the program launches under this plan. Not
// thread-safe.
#pragma once

#include "ir/fusion/fusion_space.h"
#include "ir/kernel.h"

namespace tilecast::ir {

class KernelMaker {
 public:
  explicit KernelMaker(const Module& module);
  [[nodiscard]] Kernel make(ComputationId computation, const FusedKernel& kernel);

 private:
  // A computation of the kernel's members, with the values they read as parameters and the roots as
  // results.
  [[nodiscard]] Computation excerpt(const Computation& computation, FusedKernel& kernel) const;

  const Module& module_;
  Module scratch_;  // holds the computations that kernels call; sequential ones are empty
};

}  // namespace tilecast::ir

// The kernels that a module launches, with their places, for tests over all kernels.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace tilecast::ir {

struct KernelPlace {
  ComputationId computation;
  InstrId instruction;
};

// Instructions that take time, in sequential computations.
[[nodiscard]] std::vector<KernelPlace> kernel_places(const Module& module);

// configs/programs/*.hlo, fused by Tilecast's rules, sorted by name.
[[nodiscard]] std::vector<Module> shipped_programs();

}  // namespace tilecast::ir

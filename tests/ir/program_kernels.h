// The kernels that a module launches, where they stand: for tests that go through all of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ir/kernel.h"

namespace tilecast::ir {

struct KernelPlace {
  ComputationId computation;
  InstrId instruction;
};

// Instructions that take time, in the computations that run one after the other.
[[nodiscard]] std::vector<KernelPlace> kernel_places(const Module& module);

// configs/programs/*.hlo, fused by our rules; sorted by name.
[[nodiscard]] std::vector<Module> shipped_programs();

[[nodiscard]] std::vector<std::filesystem::path> modules_in(const std::filesystem::path& folder);

}  // namespace tilecast::ir

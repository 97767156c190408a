// What the program and the module learned/torch agree on, so that a module of another build is
// refused instead of misread. Exported by the module as C symbols:
//
//   std::uint64_t tilecast_torch_module_abi();     // kGraphModuleAbi of its build
//   void* tilecast_torch_module();  // a GraphModule that lives as long as the process
#pragma once

#include "base/plugin.h"
#include "learned/graph_network.h"

namespace tilecast::learned {

// To be raised when GraphModule or GraphNetwork change their functions, or a field its meaning.
inline constexpr std::uint64_t kGraphModuleVersion = 2;

// The version, and the sizes of everything that passes between the two.
inline constexpr std::uint64_t kGraphModuleAbi = base::plugin_abi(
    kGraphModuleVersion,
    {sizeof(NetworkSpec), sizeof(TrainingSpec), sizeof(NetworkWidths), sizeof(GraphInput),
     sizeof(GraphExample), sizeof(KernelGraph), sizeof(EpochReport), sizeof(TrainingHooks)});

}  // namespace tilecast::learned

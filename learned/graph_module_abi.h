// ABI check between the program and the module learned/torch, so that a module of another build is
// rejected. The module exports these C symbols:
//
//   std::uint64_t tilecast_torch_module_abi();     // kGraphModuleAbi of its build
//   void* tilecast_torch_module();  // a GraphModule that lives as long as the process
#pragma once

#include "base/plugin.h"
#include "learned/graph_network.h"

namespace tilecast::learned {

// Increase this when functions of GraphModule or GraphNetwork, or the meaning of a field, change.
inline constexpr std::uint64_t kGraphModuleVersion = 3;

// The version, and the sizes of all types that are passed between the two.
inline constexpr std::uint64_t kGraphModuleAbi = base::plugin_abi(
    kGraphModuleVersion,
    {sizeof(NetworkSpec), sizeof(TrainingSpec), sizeof(NetworkWidths), sizeof(GraphInput),
     sizeof(GraphExample), sizeof(KernelGraph), sizeof(EpochReport), sizeof(TrainingHooks)});

}  // namespace tilecast::learned

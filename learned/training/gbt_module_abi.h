// The interface between the program and the module learned/training/xgboost, versioned so that a
// module of another build is refused. The module exports C symbols:
//
//   std::uint64_t tilecast_xgboost_module_abi();  // kGbtModuleAbi of its build
//   void* tilecast_xgboost_module();              // a GbtModule
#pragma once

#include "base/plugin.h"
#include "learned/training/gbt_trainer.h"

namespace tilecast::learned {

struct GbtModule {
  decltype(&train_gbt) train;
  decltype(&xgboost_version) version;
};

// Increment when the meaning of a field changes.
inline constexpr std::uint64_t kGbtModuleVersion = 2;

inline constexpr std::uint64_t kGbtModuleAbi = base::plugin_abi(
    kGbtModuleVersion,
    {sizeof(GbtModel), sizeof(GbtSpec), sizeof(GbtTable), sizeof(GbtRound), sizeof(GbtHooks)});

}  // namespace tilecast::learned

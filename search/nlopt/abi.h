// ABI version shared by search/constrained_minimum.cpp and its module. Internal to both.
#pragma once

#include "base/plugin.h"
#include "search/constrained_minimum.h"

namespace tilecast::search {

inline constexpr std::uint64_t kNloptModuleAbi =
    base::plugin_abi(1, {sizeof(Trial), sizeof(MinimumOptions), sizeof(Minimum)});

}  // namespace tilecast::search

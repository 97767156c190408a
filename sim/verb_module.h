// A module that adds verbs to the command, so that their dependencies are built and linked only
// with their component (CMakeLists.txt).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/plugin.h"

namespace CLI {
class App;
}

namespace tilecast::sim {

struct VerbModule {
  // Adds one of its verbs; both sides must be compiled with the same CLI11.
  void (*add)(CLI::App& app, std::string_view verb);
};
inline constexpr std::uint64_t kVerbModuleAbi = base::plugin_abi(1, {sizeof(VerbModule)});

}  // namespace tilecast::sim

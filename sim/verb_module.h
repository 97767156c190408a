// A module that brings verbs of the command, so that what only they need is neither built nor
// linked where nobody asks for them (components: CMakeLists.txt).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/plugin.h"

namespace CLI {
class App;
}

namespace tilecast::sim {

struct VerbModule {
  // Adds one of its verbs; both sides are compiled with one CLI11.
  void (*add)(CLI::App& app, std::string_view verb);
};
inline constexpr std::uint64_t kVerbModuleAbi = base::plugin_abi(1, {sizeof(VerbModule)});

}  // namespace tilecast::sim

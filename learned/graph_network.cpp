#include "learned/graph_network.h"

#include <mutex>

#include "base/plugin.h"
#include "learned/graph_module_abi.h"

namespace tilecast::learned {
namespace {

constexpr base::Plugin kPlugin = {
    .what = "the module of the graph networks",
    .file = "libtilecast_torch.so",
    .variable = "TILECAST_TORCH_MODULE",
    .hint = " a build with TILECAST_WITH_TORCH=OFF has none;",
    .abi_symbol = "tilecast_graph_module_abi",
    .entry_symbol = "tilecast_graph_module",
    .abi = kGraphModuleAbi,
};

}  // namespace

GraphModule& graph_module() {
  static std::mutex loading;
  static GraphModule* module = nullptr;
  const std::lock_guard lock(loading);
  if (module == nullptr) module = static_cast<GraphModule*>(base::load_plugin(kPlugin));
  return *module;
}

bool has_graph_module() {
  return base::has_plugin(kPlugin);
}

}  // namespace tilecast::learned

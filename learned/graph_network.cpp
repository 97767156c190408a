#include "learned/graph_network.h"

#include "base/plugin.h"
#include "learned/graph_module_abi.h"

namespace tilecast::learned {
namespace {

constexpr base::Plugin kTorch = {"torch", "the module of the graph networks", kGraphModuleAbi,
                                 "torch"};

}  // namespace

GraphModule& graph_module() {
  return *static_cast<GraphModule*>(base::load_plugin(kTorch));
}

bool has_graph_module() {
  return base::has_plugin(kTorch);
}

}  // namespace tilecast::learned

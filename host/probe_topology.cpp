#include "host/probe_topology.h"

namespace tilecast::host {

Topology read_topology(const std::string& synthetic) {
  constexpr base::Plugin kHwloc = {"hwloc", "the module of hwloc", kHwlocModuleAbi};
  return reinterpret_cast<decltype(&read_topology)>(base::load_plugin(kHwloc))(synthetic);
}

}  // namespace tilecast::host

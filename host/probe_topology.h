// The processor's topology as hwloc reports it: cores, caches, memory.
//
//   const Topology here = read_topology();
//   here.pus.back();  // the core that is measured, also by run_kernels
//
// Each core counts once, regardless of its hardware threads. With several NUMA nodes, only the node
// of the last core that the process may run on is reported. Virtual machines may hide caches or
// report wrong ones; unknown values are left unset. Throws Error if hwloc fails.
#pragma once

#include <string>
#include <vector>

#include "base/plugin.h"
#include "hwdesc/units.h"

namespace tilecast::host {

struct Cache {
  int depth = 1;  // 1, 2, 3 ...
  Bytes capacity, line;
  int ways = 0;       // lines per set; 0: unknown or fully associative
  int shared_by = 1;  // cores of `pus`
};

struct Topology {
  std::string model;          // "": unknown
  std::vector<int> pus;       // one per core, numbered as in sched_setaffinity
  std::vector<Cache> caches;  // of pus.back(), data or unified, innermost first
  Bytes memory;               // of the NUMA node
  int numa_nodes = 1;         // of the machine
  int threads_per_core = 1;
};

// `synthetic`: an hwloc synthetic topology, for tests; "" reads this machine.
[[nodiscard]] Topology read_topology(const std::string& synthetic = "");

// Implemented in a module that is loaded on first use (base/plugin.h).
inline constexpr std::uint64_t kHwlocModuleAbi =
    base::plugin_abi(1, {sizeof(Cache), sizeof(Topology)});

}  // namespace tilecast::host

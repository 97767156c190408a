// What hwloc reports of the processor a process may run on: cores, caches, memory.
//
//   const Topology here = read_topology();
//   here.pus.back();  // where one core is measured: run_kernels measures there too
//
// A core counts once, however many hardware threads it has; several NUMA nodes: the one that holds
// the last core the process may run on, with its cores and memory. Virtual machines may hide
// caches or report odd ones: what is unknown is not made up here. Throws Error when hwloc fails.
#pragma once

#include <string>
#include <vector>

#include "base/plugin.h"
#include "hwdesc/units.h"

namespace tilecast::host {

struct Cache {
  int depth = 1;  // 1, 2, 3 ...
  Bytes capacity, line;
  int ways = 0;       // lines of one set; 0: unknown, or any line
  int shared_by = 1;  // cores of `pus`
};

struct Topology {
  std::string model;          // "": unknown
  std::vector<int> pus;       // one per core, as sched_setaffinity counts
  std::vector<Cache> caches;  // of pus.back(), data or unified, innermost first
  Bytes memory;               // of the NUMA node
  int numa_nodes = 1;         // of the machine
  int threads_per_core = 1;
};

// `synthetic`: a machine described as hwloc's synthetic topologies are, for tests.
[[nodiscard]] Topology read_topology(const std::string& synthetic = "");

// Done by a module, loaded on first use (base/plugin.h).
inline constexpr std::uint64_t kHwlocModuleAbi =
    base::plugin_abi(1, {sizeof(Cache), sizeof(Topology)});

}  // namespace tilecast::host

// Implements read_topology() of host/probe.h.
#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/plugin.h"
#include "host/probe.h"

namespace tilecast::host {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

struct Free {
  void operator()(hwloc_bitmap_t set) const { hwloc_bitmap_free(set); }
};
using PuSet = std::unique_ptr<hwloc_bitmap_s, Free>;

Handle load(const std::string& synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw Error("hwloc: cannot be started");
  Handle topology(raw);
  if (!synthetic.empty() && hwloc_topology_set_synthetic(raw, synthetic.c_str()) != 0) {
    throw Error(fmt::format("hwloc: got '{}', expected a synthetic topology", synthetic));
  }
  hwloc_topology_set_cache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) throw Error("hwloc: cannot read this machine's topology");
  return topology;
}

// Units that the process may use; taskset and containers can exclude some.
PuSet allowed(hwloc_topology_t topology, bool here) {
  PuSet set(hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(topology)));
  cpu_set_t mine;
  if (!here || ::sched_getaffinity(0, sizeof mine, &mine) != 0) return set;
  for (unsigned pu = 0; pu < CPU_SETSIZE; ++pu) {
    if (!CPU_ISSET(pu, &mine)) hwloc_bitmap_clr(set.get(), pu);
  }
  return set;
}

// The unit's largest local memory; some nodes also have a small fast one.
hwloc_obj_t numa_node_of(hwloc_topology_t topology, unsigned pu) {
  hwloc_obj_t best = nullptr;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    if (!hwloc_bitmap_isset(node->cpuset, pu)) continue;
    const bool larger =
        best == nullptr || node->attr->numanode.local_memory > best->attr->numanode.local_memory;
    if (larger) best = node;
  }
  return best;
}

// The first unit of each core, or of the machine if hwloc reports no cores.
std::vector<int> first_units(hwloc_topology_t topology, hwloc_const_bitmap_t usable) {
  std::vector<int> pus;
  const bool cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(topology, type, core)) != nullptr;) {
    const PuSet of_core(hwloc_bitmap_alloc());
    hwloc_bitmap_and(of_core.get(), core->cpuset, usable);
    if (const int first = hwloc_bitmap_first(of_core.get()); first >= 0) pus.push_back(first);
  }
  std::ranges::sort(pus);
  return pus;
}

std::vector<Cache> caches_of(hwloc_obj_t unit, const std::vector<int>& pus) {
  std::vector<Cache> caches;
  for (hwloc_obj_t object = unit; object != nullptr; object = object->parent) {
    if (!hwloc_obj_type_is_dcache(object->type) || object->attr->cache.size == 0) continue;
    const auto sharing = std::ranges::count_if(pus, [&](int pu) {
      return hwloc_bitmap_isset(object->cpuset, static_cast<unsigned>(pu)) != 0;
    });
    caches.push_back({.depth = static_cast<int>(object->attr->cache.depth),
                      .capacity = Bytes{static_cast<double>(object->attr->cache.size)},
                      .line = Bytes{static_cast<double>(object->attr->cache.linesize)},
                      .ways = std::max(object->attr->cache.associativity, 0),
                      .shared_by = std::max(static_cast<int>(sharing), 1)});
  }
  return caches;
}

std::string model_of(hwloc_topology_t topology) {
  for (hwloc_obj_t object :
       {hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0), hwloc_get_root_obj(topology)}) {
    const char* model = object ? hwloc_obj_get_info_by_name(object, "CPUModel") : nullptr;
    if (model != nullptr) return model;
  }
  return {};
}

Topology topology_of(const std::string& synthetic) {
  const Handle handle = load(synthetic);
  hwloc_topology_t topology = handle.get();
  const PuSet usable = allowed(topology, synthetic.empty());
  const int last = hwloc_bitmap_last(usable.get());
  if (last < 0) throw Error("hwloc: the process may run on no processor");
  Topology found;
  found.model = model_of(topology);
  found.numa_nodes = std::max(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE), 1);
  const hwloc_obj_t node = numa_node_of(topology, static_cast<unsigned>(last));
  if (node != nullptr) {
    found.memory = Bytes{static_cast<double>(node->attr->numanode.local_memory)};
    hwloc_bitmap_and(usable.get(), usable.get(), node->cpuset);
  }
  if (synthetic.empty() && found.numa_nodes == 1) {  // a node may report less than the machine has
    const double whole = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<double>(::sysconf(_SC_PAGESIZE));
    found.memory = std::max(found.memory, Bytes{whole});
  }
  found.pus = first_units(topology, usable.get());
  TC_CHECK(!found.pus.empty(), "a usable unit belongs to a core");
  const auto unit = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(found.pus.back()));
  found.caches = caches_of(unit, found.pus);
  const int units = hwloc_bitmap_weight(usable.get());
  found.threads_per_core = std::max(units / static_cast<int>(found.pus.size()), 1);
  return found;
}

}  // namespace
}  // namespace tilecast::host

TILECAST_PLUGIN(hwloc, tilecast::host::kHwlocModuleAbi, &tilecast::host::topology_of)

// Measures this processor and writes its device description. Topology comes from hwloc.
//
//   Probed found = probe({.seconds = 20});
//   write("host.yaml", probed_yaml(found, "my_host"));
//
// The description is of one core: the last that the process may run on, where kernels are measured
// too. The combined rates of all cores of its NUMA node are measured as well. Every loop
// (probe_loops.h) runs pinned in child processes, in two rounds some seconds apart. The best repeat
// is used; `spread` is (median - best) / best. Not thread-safe (forks).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/plugin.h"
#include "hwdesc/units.h"

namespace tilecast::host {

// The processor's topology as hwloc reports it: cores, caches, memory.
//
//   const Topology here = read_topology();
//   here.pus.back();  // the core that is measured, also by run_kernels
//
// Each core counts once, regardless of its hardware threads. With several NUMA nodes, only the node
// of the last core that the process may run on is reported. Virtual machines may hide caches or
// report wrong ones; unknown values are left unset. Throws Error if hwloc fails.

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

struct ProbedLevel {  // fastest first; main memory last
  std::string name;   // "l1", "l2", "l3", "dram"
  Bytes capacity, line;
  int ways = 0;                                  // lines per set; 0: unknown or fully associative
  int shared_by = 1;                             // cores
  BytesPerSecond read, write, copy;              // one core; copy counts both directions
  BytesPerSecond all_read, all_write, all_copy;  // all cores together
  BytesPerSecond runs;                           // one core, packing runs of 256 bytes
  Seconds latency;                               // dependent load
  Bytes working_set, all_working_set;  // bytes measured on, by one core and by each of all
  Bytes chain;                         // bytes over which latency was measured
  double spread = 0, all_spread = 0;   // largest spread: one core, all cores
  bool capacity_known = true;          // false: assumed, as the system does not report it
};

struct ProbedRate {
  std::string dtype;                   // "f32", "f64", "bf16", "f16", "s32", "s8"
  FlopsPerSecond one_core, all_cores;  // a multiply-add counts 2, integer ones too
  double spread = 0, all_spread = 0;
};

struct Probed {
  std::string model, compiler, date;  // date: 2026-11-22, UTC
  int cores = 1;                      // of its NUMA node, usable by the process
  int threads_per_core = 1, numa_nodes = 1;
  int vector_bytes = 16;  // widest vectors of the compiler for this machine
  Hertz clock;            // measured: a chain of dependent additions, one per cycle
  double clock_spread = 0;
  std::vector<ProbedLevel> levels;
  std::vector<ProbedRate> rates;
  // Cycles per vector of vector_bytes / 4 elements of 32 bits: "add" (registers only), then loops
  // over arrays in L1: HLO opcodes (f32, "remainder" s32), "transpose", "reduce" (of rows) and
  // "gather".
  std::vector<std::pair<std::string, double>> op_cycles;
  double op_spread = 0;  // largest spread of op_cycles
  Seconds call;          // call of an empty kernel
  Seconds pack;          // per element, by the loops that pack tiles
  // Sustained rate of the product loops of generated code, f32, one core, operands in the caches.
  FlopsPerSecond product;
  double product_spread = 0;
  double fma_latency = 4;       // cycles, result latency of a vector multiply-add
  int repeats = 1;              // each number is the best of at least this many
  double reference_spread = 0;  // spread of the clock loop over the whole probe: noise
};

struct ProbeOptions {
  double seconds = 20;  // approximate time to measure
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

// Throws Error if there is no C compiler or a loop cannot be run.
[[nodiscard]] Probed probe(const ProbeOptions& options = {});

// The cache levels and main memory that a probe measures, with their working sets. For bandwidth:
// half of a level, divided among cores if it is shared; for main memory four times the last cache.
// For latency: four times the previous level, at most the bandwidth's working set. A pointer chain
// revisits a line late, and other users of a shared cache may have evicted it by then.
[[nodiscard]] std::vector<ProbedLevel> levels_to_probe(const Topology& topology);

// A device description as YAML for hwdesc; each block states how its numbers were measured. `name`:
// see hwdesc/device_yaml.h. Pure.
[[nodiscard]] std::string probed_yaml(const Probed& probed, const std::string& name);

}  // namespace tilecast::host

// What this processor is, found by asking (hwloc) and by measuring: a device description.
//
//   Probed found = probe({.seconds = 20});
//   write("host.yaml", probed_yaml(found, "my_host"));
//
// One core is described (kernels are measured on one, the last that the process may run on); what
// all cores of its NUMA node reach together is measured beside it. Every loop (probe_loops.h) runs
// pinned in child processes, in two rounds some seconds apart; the best of all repeats counts, and
// `spread` says how far their median lies above it. Not thread-safe (forks).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "host/probe_topology.h"
#include "hwdesc/units.h"

namespace tilecast::host {

struct ProbedLevel {  // fastest first; main memory last
  std::string name;   // "l1", "l2", "l3", "dram"
  Bytes capacity, line;
  int ways = 0;                                  // lines of one set; 0: unknown, or any line
  int shared_by = 1;                             // cores
  BytesPerSecond read, write, copy;              // of one core; copy counts both directions
  BytesPerSecond all_read, all_write, all_copy;  // of all cores together
  BytesPerSecond runs;                           // packed in runs of 256 bytes; one core
  Seconds latency;                               // of a dependent load
  Bytes working_set, all_working_set;            // measured on; of each core when all run
  Bytes chain;                                   // that the latency was measured on
  double spread = 0, all_spread = 0;             // the largest of one core, of all
  bool capacity_known = true;                    // false: the system does not report it, assumed
};

struct ProbedRate {
  std::string dtype;                   // "f32", "f64", "bf16", "f16", "s32", "s8"
  FlopsPerSecond one_core, all_cores;  // multiply-adds count 2; integer ones too
  double spread = 0, all_spread = 0;
};

struct Probed {
  std::string model, compiler, date;  // date: 2026-11-22, UTC
  int cores = 1;                      // of the NUMA node, that the process may use
  int threads_per_core = 1, numa_nodes = 1;
  int vector_bytes = 16;  // widest the compiler has for this machine
  Hertz clock;            // measured: a chain of dependent additions, one per cycle
  double clock_spread = 0;
  std::vector<ProbedLevel> levels;
  std::vector<ProbedRate> rates;
  // Cycles of one vector (vector_bytes / 4 elements of 32 bits): "add" (registers only), then
  // loops over arrays in the first cache: HLO's opcodes, f32 but for "remainder" (s32), and
  // "transpose", "reduce" (of rows), "gather".
  std::vector<std::pair<std::string, double>> op_cycles;
  double op_spread = 0;  // largest of them
  Seconds call;          // of an empty kernel
  Seconds pack;          // of one element by the loops that pack tiles
  // What the loops of generated products sustain on one core, f32, operands in the caches.
  FlopsPerSecond product;
  double product_spread = 0;
  double fma_latency = 4;       // cycles until a vector multiply-add's result can be used
  int repeats = 1;              // each number is the best of at least this many
  double reference_spread = 0;  // of the clock's loop over the probe: how quiet the machine was
};

struct ProbeOptions {
  double seconds = 20;  // of measuring, about
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

// Throws Error without a C compiler, and when a loop cannot be run.
[[nodiscard]] Probed probe(const ProbeOptions& options = {});

// The cache levels and main memory that a probe measures, with the working sets it takes.
// Bandwidth: half of a level, for a shared one each core's part of half; main memory four times the
// last cache. Latency: four times the level before, at most that half; a chain is slow to come back
// to a line, which others who use a shared cache push out meanwhile.
[[nodiscard]] std::vector<ProbedLevel> levels_to_probe(const Topology& topology);

// A description that hwdesc reads; each block says how its numbers were measured. `name`: see
// hwdesc/device_yaml.h. Pure.
[[nodiscard]] std::string probed_yaml(const Probed& probed, const std::string& name);

}  // namespace tilecast::host

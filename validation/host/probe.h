// What this processor is, found by asking (hwloc) and by measuring: a device description.
//
//   Probed found = probe({.seconds = 20});
//   write("host.yaml", probed_yaml(found, "my_host"));
//
// One core is described (kernels are measured on one); what all cores reach together is measured
// beside it. Not thread-safe; runs compiled loops in child processes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::host {

struct ProbedLevel {  // fastest first; main memory last
  std::string name;   // "l1", "l2", "l3", "dram"
  Bytes capacity;
  int shared_by = 1;                             // cores
  BytesPerSecond read, write, copy;              // of one core; copy counts both directions
  BytesPerSecond all_read, all_write, all_copy;  // of all cores together
  Seconds latency;                               // of a dependent load
};

struct ProbedRate {
  std::string dtype;                   // "f32", "f64", "bf16", "f16", "s32", "s8"
  FlopsPerSecond one_core, all_cores;  // multiply-adds count 2
};

struct Probed {
  std::string model, compiler, date;
  int cores = 1;
  int vector_bytes = 16;  // widest the compiler uses for this machine
  Hertz clock;            // measured: a chain of dependent additions, one per cycle
  std::vector<ProbedLevel> levels;
  std::vector<ProbedRate> rates;
  std::vector<std::pair<std::string, double>> op_cycles;  // per vector: "divide", "exponential" ...
  Seconds call;                                           // of an empty kernel
  double reference_spread = 0;  // of the reference loop over the probe: how quiet the machine was
};

struct ProbeOptions {
  double seconds = 20;  // of measuring, about
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

[[nodiscard]] Probed probe(const ProbeOptions& options = {});
// A description that hwdesc reads; each block says how its numbers were got.
[[nodiscard]] std::string probed_yaml(const Probed& probed, const std::string& name);

}  // namespace tilecast::host

// An artificial simulation of two kernels, for tests of views and report pages.
#pragma once

#include "sim/simulator.h"

namespace tilecast::support {

inline sim::SimulatedKernel small_kernel(std::string name, double time_s, double launches,
                                         analytical::Bound bound) {
  sim::SimulatedKernel kernel{
      .name = std::move(name), .computation = "main", .multiplicity = launches};
  kernel.estimate.edit().time = Seconds{time_s};
  kernel.estimate.edit().speed_of_light = Seconds{time_s / 2};
  kernel.estimate.edit().utilisation = 0.5;
  kernel.estimate.edit().bound = bound;
  kernel.estimate.edit().hbm_read = Bytes{3e6};
  kernel.estimate.edit().flops = Flops{5e9};
  kernel.estimate.edit().model = "hand-made";
  kernel.estimate.edit().tile.output = {2, 4};
  return kernel;
}

// "small", 1 us once, then "big", 2 us twice; 5 us in all.
inline sim::Simulation small_run() {
  sim::Simulation run{.program = "demo", .file = "demo.hlo", .device = "toy"};
  run.kernels = {small_kernel("small", 1e-6, 1, analytical::Bound::kVector),
                 small_kernel("big", 2e-6, 2, analytical::Bound::kHbmRead)};
  run.time = Seconds{1e-6 + 2 * 2e-6};
  run.kernels[0].end = run.kernels[1].start = Seconds{1e-6};
  run.kernels[1].end = run.timeline = run.time;
  run.notes = {{"something assumed", 3}};
  return run;
}

}  // namespace tilecast::support

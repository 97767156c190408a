// The dependence of a program's time on every number of a device description (elasticities), and
// the resource that limits next once the limiting one is infinitely fast.
//
//   Sensitivity s = sensitivity(loaded, load_options, source, model, {.jobs = 2});
//   s.numbers[0]   // "memory.hbm.bandwidth": up -0.71, down -0.74: 1 % faster saves 0.71 %
//   s.path[0]      // without the hbm_read bound the program takes ..., then matrix limits
//
// Time is Simulation::time. Elasticity: d log T / d log p as a difference quotient, separately up
// (p x 1.01) and down (p / 1.01); if they differ, the time has a kink there. Integers that are
// powers of two are doubled and halved, others change by 1 %, at least by 1. Elasticities are
// undefined for numbers that are 0, for published peaks, and for steps outside the schema's range
// or to a description that cannot be simulated. Deterministic for any number of threads;
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "sim/simulator.h"

namespace tilecast::sim {

struct NumberSensitivity {
  hwdesc::DeviceNumber number;
  std::optional<double> up, down;  // elasticity; nullopt: undefined
  std::size_t kernels_moved = 0;   // scheduled kernels whose time changes with either step
  std::string most_moved;          // the kernel whose total changes most
  // Whether the two differ by more than a tenth of the larger and by more than 0.01.
  [[nodiscard]] bool kink() const;
  [[nodiscard]] double size() const;  // the larger absolute value
};

// One step of "what limits next".
struct LimitStep {
  analytical::Bound bound = analytical::Bound::kOverhead;  // infinitely fast from this step on
  double share = 0;  // share of the time in kernels with this bound
  Seconds time;      // after this step
  std::size_t kernels_moved = 0;
};

struct Sensitivity {
  std::string program, file, device, model;
  Seconds time;
  std::size_t kernels = 0;
  std::vector<NumberSensitivity> numbers;  // largest first; those without effect last
  std::vector<LimitStep> path;
};

struct SensitivityOptions {
  int jobs = 1;
  double step = 1.01;  // factor, above 1
  std::size_t path_steps = 6;
};

// Throws Error if the program cannot be simulated on the unchanged description.
[[nodiscard]] Sensitivity sensitivity(const ir::LoadedModule& program, const ir::LoadOptions& load,
                                      const hwdesc::DeviceSource& source,
                                      const analytical::CostModel& model,
                                      const SensitivityOptions& options = {});

// The device with the resources of this bound infinitely fast (rates x 1e6, latencies and overheads
// 0); nullopt if no part of a description belongs to the bound (issue, fill and drain).
[[nodiscard]] std::optional<hwdesc::Device> without_bound(hwdesc::Device device,
                                                          analytical::Bound bound);

}  // namespace tilecast::sim

// What a program's time depends on: the elasticity of every number of a description, and which
// resource limits next when the one that limits is made infinitely fast.
//
//   Sensitivity s = sensitivity(loaded, load_options, source, model, {.jobs = 2});
//   s.numbers[0]   // "memory.hbm.bandwidth": up -0.71, down -0.74: 1 % faster saves 0.71 %
//   s.path[0]      // without the hbm_read bound the program takes ..., then matrix limits
//
// Time is Simulation::time. Elasticity: d log T / d log p by a difference quotient, up (p x 1.01)
// and down (p / 1.01), each on its own: where they differ the time has a kink there. Whole numbers
// that are powers of two double and halve, others move by 1 %, at least by 1. Numbers that are 0,
// published peaks, and steps that leave the range of the schema or give a description that cannot
// be simulated have none. Deterministic whatever the number of threads; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/device_numbers.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "sim/simulator.h"

namespace tilecast::sim {

struct NumberSensitivity {
  hwdesc::DeviceNumber number;
  std::optional<double> up, down;  // elasticity; nothing: not defined
  std::size_t kernels_moved = 0;   // scheduled kernels whose time changes, by either step
  std::string most_moved;          // of them, the one whose total changes most
  // The two sides differ by more than a tenth of the larger and 0.01.
  [[nodiscard]] bool kink() const;
  [[nodiscard]] double size() const;  // the larger of the two, without sign
};

// One step of "what limits next".
struct LimitStep {
  analytical::Bound bound =
      analytical::Bound::kOverhead;  // made infinitely fast, with those before
  double share = 0;                  // of the time, in kernels it held up
  Seconds time;                      // then
  std::size_t kernels_moved = 0;
};

struct Sensitivity {
  std::string program, file, device, model;
  Seconds time;
  std::size_t kernels = 0;
  std::vector<NumberSensitivity> numbers;  // largest first; those without any effect last
  std::vector<LimitStep> path;
};

struct SensitivityOptions {
  int jobs = 1;
  double step = 1.01;  // factor, above 1
  std::size_t path_steps = 6;
};

// Throws Error where the program cannot be simulated on the description as it is.
[[nodiscard]] Sensitivity sensitivity(const ir::LoadedModule& program, const ir::LoadOptions& load,
                                      const hwdesc::DeviceSource& source,
                                      const analytical::CostModel& model,
                                      const SensitivityOptions& options = {});

// The device with what this bound stands for infinitely fast (rates x 1e6, latencies and overheads
// 0); nothing where no part of a description does (issue, fill and drain).
[[nodiscard]] std::optional<hwdesc::Device> without_bound(hwdesc::Device device,
                                                          analytical::Bound bound);

}  // namespace tilecast::sim

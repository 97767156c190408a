// Energy and power of a run of a program: dynamic energy plus idle energy.
//
//   energy = sum over launches of dynamic energy (analytical/energy.h) + idle power x timeline
//
// The device is on for the whole timeline, independent of overlap. Energy is for one core of the
// device; a chip takes this times the number of active cores.
#pragma once

#include <optional>
#include <span>

#include "analytical/estimate.h"
#include "hwdesc/device.h"

namespace tilecast::sim {

struct SimulatedKernel;

struct ProgramEnergy {
  analytical::LaunchEnergy dynamic;  // of all launches
  Joules idle;
  Watts idle_power;
  std::optional<Watts> power_limit;
  Seconds timeline;
  // Kernels whose clock the power limit lowers, and the lowest clock factor among them.
  std::size_t limited_kernels = 0;
  double lowest_clock = 1;

  [[nodiscard]] Joules total() const { return dynamic.total() + idle; }
  [[nodiscard]] Watts average_power() const;  // 0 if the program takes no time
};

// nullopt if the device describes no energy, or if the model did not report its counts for a
// kernel. Skipped kernels take no energy.
[[nodiscard]] std::optional<ProgramEnergy> program_energy(std::span<const SimulatedKernel> kernels,
                                                          Seconds timeline,
                                                          const hwdesc::Device& device);

}  // namespace tilecast::sim

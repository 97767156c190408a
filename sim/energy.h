// What a run of a program takes beside time: the energy of what it does and of idling, and power.
//
//   energy = sum over launches of dynamic energy (analytical/energy.h) + idle power x timeline
//
// The device is on for as long as the timeline lasts, whatever overlaps on it. Of one core of the
// device; a chip takes as many times that as it has cores at work.
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
  // Launches whose clock the limit lowers: kernels, and the lowest factor among them.
  std::size_t limited_kernels = 0;
  double lowest_clock = 1;

  [[nodiscard]] Joules total() const { return dynamic.total() + idle; }
  [[nodiscard]] Watts average_power() const;  // 0 of a program that takes no time
};

// nullopt where the device describes no energy, or the model did not say what it counted of a
// kernel. Kernels that were skipped take none.
[[nodiscard]] std::optional<ProgramEnergy> program_energy(std::span<const SimulatedKernel> kernels,
                                                          Seconds timeline,
                                                          const hwdesc::Device& device);

}  // namespace tilecast::sim

#include "sim/energy.h"

#include <algorithm>

#include "sim/simulator.h"

namespace tilecast::sim {

Watts ProgramEnergy::average_power() const {
  return timeline.value > 0 ? total() / timeline : Watts{0};
}

std::optional<ProgramEnergy> program_energy(std::span<const SimulatedKernel> kernels,
                                            Seconds timeline, const hwdesc::Device& device) {
  if (!device.energy) return std::nullopt;
  ProgramEnergy sum{.idle = device.idle_power() * timeline,
                    .idle_power = device.idle_power(),
                    .power_limit = device.power_limit(),
                    .timeline = timeline};
  for (const SimulatedKernel& kernel : kernels) {
    if (kernel.skipped) continue;
    if (!kernel.estimate->energy) return std::nullopt;
    const analytical::LaunchEnergy& one = *kernel.estimate->energy;
    sum.dynamic.compute += kernel.multiplicity * one.compute;
    sum.dynamic.memory += kernel.multiplicity * one.memory;
    sum.dynamic.on_chip += kernel.multiplicity * one.on_chip;
    sum.dynamic.network += kernel.multiplicity * one.network;
    if (kernel.estimate->clock_factor < 1) ++sum.limited_kernels;
    sum.lowest_clock = std::min(sum.lowest_clock, kernel.estimate->clock_factor);
  }
  return sum;
}

}  // namespace tilecast::sim

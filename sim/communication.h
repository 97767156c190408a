// How much of a program's collectives runs beside its other kernels.
//
//   communication = sum of collectives' times x launches
//   hidden        = of it, while a compute kernel runs on the timeline
//
// Of one device; the others run the same program at the same time. A collective fused into a
// compute kernel holds that lane and hides nothing.
#pragma once

#include <optional>
#include <span>

#include "hwdesc/device.h"
#include "ir/program.h"

namespace tilecast::sim {

struct SimulatedKernel;

struct Communication {
  Seconds time, hidden;
};

// Cores of all chips of the slices that the device describes; nullopt without.
[[nodiscard]] std::optional<double> slice_devices(const hwdesc::Device& device);

// `kernels`: simulated, with their places on the timeline; one per kernel of the program. nullopt
// where none crosses devices.
[[nodiscard]] std::optional<Communication> communication(const ir::Program& program,
                                                         std::span<const SimulatedKernel> kernels);

}  // namespace tilecast::sim

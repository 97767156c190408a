// How much of a program's collective communication overlaps with other kernels.
//
//   communication = sum of collectives' times x launches
//   hidden        = the part during which a compute kernel runs on the timeline
//
// For one device; the others run the same program at the same time. A collective fused into a
// compute kernel occupies the compute lane and hides nothing.
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

// Cores of all chips in the slices that the device describes; nullopt without a slice.
[[nodiscard]] std::optional<double> slice_devices(const hwdesc::Device& device);

// `kernels`: simulated kernels with their positions on the timeline; one per kernel of the program.
// nullopt if no kernel communicates across devices.
[[nodiscard]] std::optional<Communication> communication(const ir::Program& program,
                                                         std::span<const SimulatedKernel> kernels);

}  // namespace tilecast::sim

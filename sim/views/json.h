// Simulations as JSON, schema "tilecast.simulate/1": programs[] with file, program, device, time_s,
// timeline_s, host_dispatch_s, kernels[] and notes[]; of a named model `model`, of a hybrid low_s
// and high_s (90 % of time_s) and domain[]. Seconds, bytes and FLOPs everywhere. Pure.
#pragma once

#include <span>
#include <string>

#include "sim/simulator.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string json(std::span<const Simulation> runs);

}  // namespace tilecast::sim::views

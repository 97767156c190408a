// Simulations as Chrome trace events (JSON object format), which Perfetto and chrome://tracing
// open: one process per program and device, one thread per lane, one complete event ("X") per
// kernel. `ts` and `dur` are in microseconds, as the format wants. Pure. Format: "Trace Event
// Format", Google, public document.
#pragma once

#include <span>
#include <string>

#include "sim/simulator.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string trace(std::span<const Simulation> runs);

}  // namespace tilecast::sim::views

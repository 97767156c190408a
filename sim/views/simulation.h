// Simulations as text, CSV, JSON and a trace. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sim/simulator.h"

namespace tilecast::sim::views {

struct TableOptions {
  std::size_t top = 20;  // kernels shown, by total time; the rest is summed in one line
  bool all = false;      // every kernel, and every note
};

// Totals, share of the time per bound, the top kernels, notes and flags; headers state units.
[[nodiscard]] std::string table(const Simulation& simulation, const TableOptions& options = {});

// Programs x devices: one row per program with the time per device (for hybrids with its 90 %
// interval), the ratio to the first device, and the energy if some device describes it; then the
// notes and flags of all runs.
// `runs` contains every combination, programs outermost; `devices` >= 1 is their number.
[[nodiscard]] std::string comparison(std::span<const Simulation> runs, std::size_t devices);

// A row per kernel of every program and device, with units in the column names.
[[nodiscard]] std::string csv(std::span<const Simulation> runs);

// Schema "tilecast.simulate/2": programs[] with file, program, device, time_s, timeline_s,
// device_s, host_launches_s (time_s is the longer of both), host_dispatch_s, memory{},
// communication{} (for programs with collectives), roofs (of one core), kernels[], notes[],
// energy_J (null: not described), average_power_W (likewise) and energy{}; version (of Tilecast);
// for a named model `model`, for a hybrid low_s and high_s (90 % of time_s) and believed{}: kernels
// and time_s by correction weight: above_half, up_to_half or 0 (physics_alone). Seconds, bytes and
// FLOPs everywhere. simulate/1 had domain[] instead of believed{}.
[[nodiscard]] std::string json(std::span<const Simulation> runs);

// Chrome trace events (JSON object format; "Trace Event Format", Google, public document), for
// Perfetto and chrome://tracing: one process per program and device, one thread per lane, one
// complete event ("X") per kernel. `ts` and `dur` are in microseconds, as the format requires.
[[nodiscard]] std::string trace(std::span<const Simulation> runs);

}  // namespace tilecast::sim::views

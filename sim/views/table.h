// A simulation as text for a terminal. Pure functions; the CLI prints. Units are in every header.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sim/simulator.h"

namespace tilecast::sim::views {

struct TableOptions {
  std::size_t top = 20;  // kernels shown, by total time; the rest is one line
};

// Totals, share of the time per bound, the top kernels, notes and flags.
[[nodiscard]] std::string table(const Simulation& simulation, const TableOptions& options = {});

// Programs x devices: one row per program, per device the time, of hybrids its 90 % interval, and
// the ratio to the first device; then the notes and flags of all runs.
// `runs` holds every combination, programs outermost; `devices` >= 1 is how many there are.
[[nodiscard]] std::string comparison(std::span<const Simulation> runs, std::size_t devices);

// "fusion", "dot", ... with "*" for asynchronous kernels.
[[nodiscard]] std::string kind(const SimulatedKernel& kernel);

// Share of the program's time that each bound holds, summed over kernels.
[[nodiscard]] analytical::BoundVector bound_shares(const Simulation& simulation);

// Flags of all kernels with the number of kernels that carry each, in order of first appearance.
[[nodiscard]] std::vector<ir::Note> flag_counts(const Simulation& simulation);

}  // namespace tilecast::sim::views

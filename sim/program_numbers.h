// What a run of a program takes beside time, by name: one list for the tables, CSV and JSON of
// `simulate` and for the columns of studies.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "sim/simulator.h"

namespace tilecast::sim {

struct ProgramNumber {
  std::string_view name;                           // ends in its unit
  std::optional<double> (*of)(const Simulation&);  // SI units; nothing: not described, not known
};

// energy_J, average_power_W: where the device describes energy.
[[nodiscard]] std::span<const ProgramNumber> energy_numbers();
// peak_memory_bytes, memory_capacity_bytes: of main memory.
[[nodiscard]] std::span<const ProgramNumber> memory_numbers();

}  // namespace tilecast::sim

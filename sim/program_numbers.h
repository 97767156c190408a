// Numbers of a program run other than times, by name: one list for the tables, CSV and JSON of
// `simulate` and the columns of studies.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "sim/simulator.h"

namespace tilecast::sim {

struct ProgramNumber {
  std::string_view name;                           // ends in its unit
  std::optional<double> (*of)(const Simulation&);  // SI units; nullopt: not described or unknown
};

// energy_J, average_power_W: if the device describes energy.
[[nodiscard]] std::span<const ProgramNumber> energy_numbers();
// peak_memory_bytes, memory_capacity_bytes: of main memory.
[[nodiscard]] std::span<const ProgramNumber> memory_numbers();

}  // namespace tilecast::sim

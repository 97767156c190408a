// Energy and power as text, JSON and CSV fields. Text picks a unit and names it; JSON and CSV have
// joules ("_J") and watts ("_W"). Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "sim/energy.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string joules(Joules energy);  // "1.23 mJ"

// Lines of the header of `simulate`: energy, its parts, average power, and the effect of a power
// limit.
[[nodiscard]] std::string energy_text(const std::optional<ProgramEnergy>& energy);
// A line of `explain`, for one launch.
[[nodiscard]] std::string launch_energy_text(const analytical::Estimate& estimate,
                                             const std::optional<Watts>& idle_power);

// The parts of a program's energy, idle power and the effect of a power limit (totals:
// sim/program_numbers.h).
[[nodiscard]] nlohmann::ordered_json energy_json(const ProgramEnergy& energy);
// Adds dynamic_energy_J{} and clock_factor of a launch; nothing if energy is not described.
void add_launch_energy(nlohmann::ordered_json& object, const analytical::Estimate& estimate);
// Columns energy_J (per launch, with idle energy), its parts and clock_factor; empty if not
// described.
void add_launch_energy(Fields& fields, const analytical::Estimate& estimate,
                       const std::optional<Watts>& idle_power);

}  // namespace tilecast::sim::views

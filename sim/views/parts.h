// A hybrid's correction of a kernel, for tables of explain, simulate and compare. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "hybrid/hybrid_model.h"
#include "sim/run_parts.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {

// "x 1.23 [1.05, 1.44] 0.81": the factor and its 90 % interval, both relative to the analytical
// time, and the weight k of the correction (0: analytical time). "" without a correction.
[[nodiscard]] std::string correction_cell(const std::optional<analytical::Correction>& correction);
inline constexpr const char* kCorrectionTitle = "x analytical [90 %] k";

// The paragraph of `explain`: analytical time, factor, interval, place, nearest, drivers.
[[nodiscard]] std::string correction_text(const hybrid::CorrectionReasons& reasons);
[[nodiscard]] nlohmann::ordered_json correction_json(const hybrid::CorrectionReasons& reasons);

// Adds the fields of a correction; nothing without one.
void add_correction(nlohmann::ordered_json& object,
                    const std::optional<analytical::Correction>& correction);
inline constexpr std::string_view kCorrectionColumns =
    "analytical_s,factor,weight,verdict,low_s,high_s";

// Energy and power as text, JSON and CSV fields. Text picks a unit and names it; JSON and CSV have
// joules ("_J") and watts ("_W"). Pure.

// Lines of the header of `simulate`: energy, its parts, average power, and the effect of a power
// limit.
[[nodiscard]] std::string energy_text(const std::optional<ProgramEnergy>& energy);
// A line of `explain`, for one launch.
[[nodiscard]] std::string launch_energy_text(const analytical::Estimate& estimate,
                                             const std::optional<Watts>& idle_power);

// The parts of a program's energy, idle power and the effect of a power limit (totals:
// sim/simulator.h).
[[nodiscard]] nlohmann::ordered_json energy_json(const ProgramEnergy& energy);
// Adds dynamic_energy_J{} and clock_factor of a launch; nothing if energy is not described.
void add_launch_energy(nlohmann::ordered_json& object, const analytical::Estimate& estimate);
// Columns of CSV: energy_J (per launch, with idle energy), its parts and clock_factor; and their
// values, none if not described.
inline constexpr std::string_view kEnergyColumns =
    "energy_J,compute_energy_J,memory_energy_J,on_chip_energy_J,network_energy_J,clock_factor";
void set_launch_energy_cells(nlohmann::ordered_json& row, const analytical::Estimate& estimate,
                             const std::optional<Watts>& idle_power);

// Peak memory of a program (sim/run_parts.h) as a line of text and JSON. Pure.

// "memory    peak 1.2 GiB of 16 GiB: arguments ..., temporaries ..., outputs ...", and the excess
// if it does not fit; ends with a newline.
[[nodiscard]] std::string memory_line(const ProgramMemory& memory);
// peak_bytes, capacity_bytes, fits, spare_bytes, the split at the peak, all outputs, aliased, at.
[[nodiscard]] nlohmann::ordered_json memory_json(const ProgramMemory& memory);

}  // namespace tilecast::sim::views

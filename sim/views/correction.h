// A hybrid's correction of a kernel, for tables of explain, simulate and compare. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hybrid/hybrid_model.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {

// "x 1.23 [1.05, 1.44] 0.81": the factor and its 90 % interval, both relative to the analytical
// time, and the weight k of the correction (0: analytical time). "" without a correction.
[[nodiscard]] std::string correction_cell(const std::optional<analytical::Correction>& correction);
inline constexpr const char* kCorrectionTitle = "x analytical [90 %] k";

// The paragraph of `explain`: analytical time, factor, interval, place, nearest, drivers.
[[nodiscard]] std::string correction_text(const hybrid::CorrectionReasons& reasons);
[[nodiscard]] nlohmann::ordered_json correction_json(const hybrid::CorrectionReasons& reasons);

// Adds the fields of a correction: analytical_s, factor, weight, verdict, low_s, high_s. Without a
// correction, adds nothing to an object, and empty cells to a CSV row.
void add_correction(nlohmann::ordered_json& object,
                    const std::optional<analytical::Correction>& correction);
void add_correction(Fields& fields, const std::optional<analytical::Correction>& correction);

}  // namespace tilecast::sim::views

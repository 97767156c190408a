// What a hybrid did to a kernel, in words: for tables of explain, simulate and compare. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "hybrid/hybrid_model.h"

namespace tilecast::sim::views {

// "x 1.23 [1.05, 1.44] in": the factor and its 90 % interval, both over the analytical time, and
// the verdict. "" without a correction.
[[nodiscard]] std::string correction_cell(const std::optional<analytical::Correction>& correction);
inline constexpr const char* kCorrectionTitle = "x analytical [90 %] domain";

// The paragraph of `explain`: analytical time, factor, interval, verdict, nearest, drivers.
[[nodiscard]] std::string correction_text(const hybrid::CorrectionReasons& reasons);
[[nodiscard]] nlohmann::ordered_json correction_json(const hybrid::CorrectionReasons& reasons);

// The fields of a correction that JSON and CSV share: analytical_s, factor, weight, verdict, low_s,
// high_s. Texts are empty without a correction.
[[nodiscard]] std::vector<std::string> correction_columns();
[[nodiscard]] std::vector<std::string> correction_values(
    const std::optional<analytical::Correction>& correction);
// Adds them to an object; nothing without a correction.
void add_correction(nlohmann::ordered_json& object,
                    const std::optional<analytical::Correction>& correction);

}  // namespace tilecast::sim::views

// The column analytical_scaled: what physics says, times one coefficient per op class. The baseline
// of Kaufman et al., MLSys 2021, section 5.2: coefficients follow from the programs that are scored
// themselves, run once in their default configuration.
#pragma once

#include <string>
#include <vector>

#include "measured/evaluation.h"

namespace tilecast::validation {

inline constexpr std::string_view kAnalyticalScaled = "analytical_scaled";

// Scales `column` of the rows. A class's coefficient is the sum of the measured times of its
// default rows over the sum of the predicted ones; of a class without any, that of all default rows
// together; without those, 1. Returns "convolution x 1.20 (17 rows)" by class, and what holds for
// the others.
[[nodiscard]] std::vector<std::string> scale_by_class(
    const std::vector<measured::ScoredWorkload>& works, const std::vector<bool>& is_default,
    std::size_t column, std::vector<measured::ScoredRow>& rows);

}  // namespace tilecast::validation

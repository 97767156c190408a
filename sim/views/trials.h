// The results of a hybrid's trials, next to the analytical model's: tables of train, calibrate and
// validate. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hybrid/trials.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string trials_text(const hybrid::TrialReport& report);
[[nodiscard]] nlohmann::ordered_json trials_json(const hybrid::TrialReport& report);

}  // namespace tilecast::sim::views

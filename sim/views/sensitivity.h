// A sensitivity as text, as JSON ("tilecast.sensitivity/1"), or its numbers as CSV. Pure.
#pragma once

#include <string>

#include "sim/sensitivity.h"

namespace tilecast::sim::views {

// `top`: the maximum number of rows; only numbers with an effect are shown.
[[nodiscard]] std::string sensitivity_text(const Sensitivity& result, std::size_t top);
[[nodiscard]] std::string sensitivity_json(const Sensitivity& result);
[[nodiscard]] std::string sensitivity_csv(const Sensitivity& result);

}  // namespace tilecast::sim::views

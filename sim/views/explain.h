// An explanation as text with bars, as JSON ("tilecast.explain/1"), or its tiles as CSV. "adds" and
// "added_s" are Explanation::added. With a correction, JSON and CSV end with the fields of
// sim/views/parts.h. Pure.
#pragma once

#include <string>

#include "sim/explain.h"
#include "sim/sensitivity.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string explain_text(const Explanation& why);
[[nodiscard]] std::string explain_json(const Explanation& why);
[[nodiscard]] std::string explain_csv(const Explanation& why);  // one row per ranked tile

// A sensitivity as text, as JSON ("tilecast.sensitivity/1"), or its numbers as CSV. Pure.

// `top`: the maximum number of rows; only numbers with an effect are shown.
[[nodiscard]] std::string sensitivity_text(const Sensitivity& result, std::size_t top);
[[nodiscard]] std::string sensitivity_json(const Sensitivity& result);
[[nodiscard]] std::string sensitivity_csv(const Sensitivity& result);

}  // namespace tilecast::sim::views

// An explanation as text with bars, as JSON ("tilecast.explain/1"), or its tiles as CSV. "adds" and
// "added_s": Explanation::added. Pure.
// Where measurements corrected it, JSON and CSV end with what sim/views/correction.h names.
#pragma once

#include <string>

#include "sim/explain.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string explain_text(const Explanation& why);
[[nodiscard]] std::string explain_json(const Explanation& why);
[[nodiscard]] std::string explain_csv(const Explanation& why);  // one row per ranked tile

}  // namespace tilecast::sim::views

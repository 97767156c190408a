// An explanation as text with bars, as JSON ("tilecast.explain/1"), or its tiles as CSV. "adds" and
// "added_s" are Explanation::added. With a correction, JSON and CSV end with the fields of
// sim/views/correction.h. Pure.
#pragma once

#include <string>

#include "sim/explain.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string explain_text(const Explanation& why);
[[nodiscard]] std::string explain_json(const Explanation& why);
[[nodiscard]] std::string explain_csv(const Explanation& why);  // one row per ranked tile

}  // namespace tilecast::sim::views

// A comparison (sim/compare.h) as text for a terminal, as CSV (one line per row and side) or as
// JSON, schema "tilecast.compare/1": sides[], reference, groups[], rows[], totals[], blamed[],
// unmatched[], notes[]. Text shows us and %, CSV and JSON seconds and fractions; "lost" is
// side - reference, x launches. A comparison with a profile has profile{} and rows[].profile{} as
// well (sim/compare.h), and its text begins with a summary. A hybrid's corrections are
// included (sim/views/parts.h), and the spread of measured runs. A comparison of two runs has
// difference{} as well: before{}, after{}, totals[], resources[], layers[], kernels[]; its text and
// CSV are the difference alone. Pure.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/compare.h"

namespace tilecast::sim::views {

struct CompareTableOptions {
  std::size_t top = 20;  // rows, and groups, shown; the rest is one line
};

[[nodiscard]] std::string compare_text(const Comparison& comparison,
                                       const CompareTableOptions& options = {});
[[nodiscard]] std::string compare_csv(const Comparison& comparison);
[[nodiscard]] std::string compare_json(const Comparison& comparison);

// The difference of two runs alone; `top`: rows of the table of kernels.
[[nodiscard]] std::string difference_text(const Difference& difference, std::size_t top);
[[nodiscard]] std::string difference_csv(const Difference& difference);
[[nodiscard]] nlohmann::ordered_json difference_json(const Difference& difference);

}  // namespace tilecast::sim::views

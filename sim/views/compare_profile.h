// The parts of a comparison's text that only profiles have: what the answer is in a few lines,
// programs and categories, the profile's own counts beside Tilecast's. Pure.
#pragma once

#include <string>
#include <vector>

#include "sim/compare.h"
#include "sim/views/text_table.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string profile_header(const Comparison& comparison);
// Programs and categories; at most `top` rows each.
[[nodiscard]] std::string profile_tables(const Comparison& comparison, std::size_t top);
// Columns of the table of rows, and a row's cells: the median, FLOPs and bytes; where the profile
// counts itself, its category and counts beside them.
[[nodiscard]] std::vector<Column> profile_columns(bool profile_counts);
[[nodiscard]] std::vector<std::string> profile_cells(const ProfileCounts& counts,
                                                     bool profile_counts);
// What the columns mean, and the command to run next.
[[nodiscard]] std::string profile_footer(const Comparison& comparison);

// Counts of one launch that differ by more than this are marked.
inline constexpr double kCountTolerance = 0.05;

}  // namespace tilecast::sim::views

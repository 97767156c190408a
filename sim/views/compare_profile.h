// The parts of a comparison's text that only profiles have: a summary in a few lines, programs and
// categories, and the profile's own counts next to Tilecast's. Pure.
#pragma once

#include <string>
#include <vector>

#include "sim/compare.h"
#include "sim/views/text_table.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string profile_header(const Comparison& comparison);
// Programs and categories; at most `top` rows each.
[[nodiscard]] std::string profile_tables(const Comparison& comparison, std::size_t top);
// Columns of the table of rows, and the cells of a row: the median, FLOPs and bytes; if the profile
// has counts, also its category and counts.
[[nodiscard]] std::vector<Column> profile_columns(bool profile_counts);
[[nodiscard]] std::vector<std::string> profile_cells(const ProfileCounts& counts,
                                                     bool profile_counts);
// Explains the columns, and gives the next command to run.
[[nodiscard]] std::string profile_footer(const Comparison& comparison);

// Relative difference of counts per launch above which a row is marked.
inline constexpr double kCountTolerance = 0.05;

}  // namespace tilecast::sim::views

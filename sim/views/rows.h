// A table of rows (sim/csv.h) as CSV, aligned text, or JSON: an array of objects, numbers as
// numbers, empty cells as null. Pure.
#pragma once

#include <string>

#include "sim/csv.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string rows_csv(const CsvTable& table);
[[nodiscard]] std::string rows_text(const CsvTable& table);
// {"schema": schema, "rows": [...]}
[[nodiscard]] std::string rows_json(const CsvTable& table, const std::string& schema);

}  // namespace tilecast::sim::views

// A table of rows (measured/csv.h) as CSV, aligned text, or JSON: an array of objects, numbers as
// numbers, empty cells as null. Pure.
#pragma once

#include <string>

#include "measured/csv.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string rows_csv(const measured::CsvTable& table);
[[nodiscard]] std::string rows_text(const measured::CsvTable& table);
// {"schema": schema, "rows": [...]}
[[nodiscard]] std::string rows_json(const measured::CsvTable& table, const std::string& schema);

}  // namespace tilecast::sim::views

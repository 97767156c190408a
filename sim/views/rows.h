// A table of rows (learned/csv.h) as CSV, aligned text, or JSON: an array of objects, numbers as
// numbers, empty cells as null. Pure.
#pragma once

#include <string>

#include "learned/csv.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string rows_csv(const learned::CsvTable& table);
[[nodiscard]] std::string rows_text(const learned::CsvTable& table);
// {"schema": schema, "rows": [...]}
[[nodiscard]] std::string rows_json(const learned::CsvTable& table, const std::string& schema);

}  // namespace tilecast::sim::views

// Shared by the machine-readable views: rows as CSV, aligned text or JSON. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analytical/estimate.h"
#include "measured/csv.h"

namespace tilecast::sim::views {

// A table of rows; JSON is {"schema": schema, "rows": [...]}, numbers as numbers, empty cells as
// null.
[[nodiscard]] std::string rows_csv(const measured::CsvTable& table);
[[nodiscard]] std::string rows_text(const measured::CsvTable& table);
[[nodiscard]] nlohmann::ordered_json rows_document(const measured::CsvTable& table,
                                                   const std::string& schema);
[[nodiscard]] std::string rows_json(const measured::CsvTable& table, const std::string& schema);

// One cell of a row with its column's name.
struct Field {
  std::string name, cell;
};
using Fields = std::vector<Field>;
[[nodiscard]] std::string csv_header(const Fields& fields);
[[nodiscard]] std::string csv_row(const Fields& fields);
[[nodiscard]] std::string csv_number(double value);  // shortest text that parses to the same value
[[nodiscard]] std::string csv_number(const std::optional<double>& value);  // or empty

// At least one JSON object, all with the same keys, as CSV.
[[nodiscard]] std::string rows_csv(const nlohmann::ordered_json& rows);
[[nodiscard]] nlohmann::ordered_json json_number(const std::optional<double>& value);  // or null
// Serialises every output document: invalid UTF-8 is replaced. `indent` -1: on one line.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& document, int indent = 1);
// The same without a newline at the end.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& document, int indent = -1);

// One estimate: the fields shared by simulate and explain, SI units; with a correction, also its
// fields (sim/views/correction.h).
[[nodiscard]] nlohmann::ordered_json estimate_json(const analytical::Estimate& estimate);

}  // namespace tilecast::sim::views

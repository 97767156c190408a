// What the machine-readable views share: rows as CSV, aligned text or JSON. Pure.
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

// One row with its columns' names.
struct Field {
  std::string name, cell;
};
using Fields = std::vector<Field>;
[[nodiscard]] std::string csv_header(const Fields& fields);
[[nodiscard]] std::string csv_row(const Fields& fields);
[[nodiscard]] std::string csv_number(double value);  // shortest that reads back the same
[[nodiscard]] std::string csv_number(const std::optional<double>& value);  // or empty

// JSON objects with the same keys, at least one, as CSV.
[[nodiscard]] std::string rows_csv(const nlohmann::ordered_json& rows);
[[nodiscard]] nlohmann::ordered_json json_number(const std::optional<double>& value);  // or null
// Every document that is written: bytes that are no UTF-8 are replaced. `indent` -1: on one line.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& document, int indent = 1);
// The same without a line end.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& document, int indent = -1);

// One estimate: the fields that simulate and explain share, SI units; where a model learned from
// measurements, those of its correction (sim/views/correction.h) too.
[[nodiscard]] nlohmann::ordered_json estimate_json(const analytical::Estimate& estimate);

}  // namespace tilecast::sim::views

#include "measured/parameter_columns.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace tilecast::measured {
namespace {

constexpr std::string_view kParameterPrefix = "p_", kQuantityPrefix = "q_";

// NaN for an empty cell.
float float_cell(const CsvTable& table, const CsvRow& row, const std::string& column) {
  const std::string_view text = table.cell(row, column);
  float value = std::numeric_limits<float>::quiet_NaN();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!text.empty() && !(whole && std::isfinite(value))) {
    throw Error(fmt::format("{}: got '{}', expected a number or an empty cell",
                            table.where(row, column), text.substr(0, 60)));
  }
  return value;
}

}  // namespace

bool is_parameter_column(std::string_view column) {
  return column.starts_with(kParameterPrefix) && column.size() > kParameterPrefix.size();
}

std::vector<std::string> parameter_names(const CsvTable& table) {
  std::vector<std::string> names;
  for (const std::string& column : table.columns) {
    if (is_parameter_column(column)) names.push_back(column.substr(kParameterPrefix.size()));
  }
  return names;
}

std::vector<float> read_parameters(const CsvTable& table, const CsvRow& row) {
  std::vector<float> values;
  for (const std::string& column : table.columns) {
    if (is_parameter_column(column)) values.push_back(float_cell(table, row, column));
  }
  return values;
}

bool is_quantity_column(std::string_view column) {
  return column.starts_with(kQuantityPrefix) && column.size() > kQuantityPrefix.size();
}

std::string quantity_column(const Quantity& quantity) {
  return std::string(kQuantityPrefix) + quantity.name;
}

void check_quantity_columns(const CsvTable& table, const Manifest& manifest) {
  for (const std::string& column : table.columns) {
    if (!is_quantity_column(column)) continue;
    const std::string_view name = std::string_view(column).substr(kQuantityPrefix.size());
    if (manifest.quantity(name) != nullptr) continue;
    throw Error(
        fmt::format("{}:1: column '{}': the manifest has no quantity '{}'; expected it "
                    "under quantities:, with its unit",
                    table.file, column, name));
  }
  for (const Quantity& quantity : manifest.quantities) {
    if (table.find(quantity_column(quantity))) continue;
    throw Error(fmt::format("{}:1: the column '{}' of the manifest's quantity is missing",
                            table.file, quantity_column(quantity)));
  }
}

std::vector<float> read_quantities(const CsvTable& table, const CsvRow& row,
                                   const Manifest& manifest) {
  std::vector<float> values;
  for (const Quantity& quantity : manifest.quantities) {
    values.push_back(float_cell(table, row, quantity_column(quantity)));
  }
  return values;
}

}  // namespace tilecast::measured

#include "measured/parameter_columns.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace tilecast::measured {
namespace {

constexpr std::string_view kParameterPrefix = "p_";

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
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!is_parameter_column(table.columns[i])) continue;
    const std::string_view text = table.cell(row, table.columns[i]);
    float value = std::numeric_limits<float>::quiet_NaN();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (!text.empty() && !(whole && std::isfinite(value))) {
      throw Error(fmt::format("{}: got '{}', expected a number or an empty cell",
                              table.where(row, table.columns[i]), text.substr(0, 60)));
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace tilecast::measured

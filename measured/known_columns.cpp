#include "measured/known_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace tilecast::measured {
namespace {

constexpr std::array<std::string_view, 50> kOperatorColumns{"op",        "execution",
                                                            "dtype",     "out_dtype",
                                                            "batch",     "m",
                                                            "n",         "k",
                                                            "h",         "w",
                                                            "ci",        "co",
                                                            "kh",        "kw",
                                                            "stride",    "padding",
                                                            "rows",      "columns",
                                                            "elements",  "shape",
                                                            "devices",   "layers",
                                                            "nodes",     "input",
                                                            "output",    "transposed",
                                                            "precision", "groups",
                                                            "block",     "tokens",
                                                            "hidden",    "inter",
                                                            "topk",      "experts",
                                                            "tp",        "ep",
                                                            "skew",      "weight_dtype",
                                                            "library",   "heads",
                                                            "kv_heads",  "q_len",
                                                            "kv_len",    "head_dim",
                                                            "value_dim", "causal",
                                                            "window",    "kv_dtype",
                                                            "backward",  "writes_kv"};
constexpr std::array<std::string_view, 8> kMeasuredColumns{
    "runtime_ns", "dispatch_ns", "device", "class", "family", "repeats", "spread_ns", "split"};
constexpr std::string_view kKeptPrefix = "x_";

bool contains(std::span<const std::string_view> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_number_column(const std::string& column) {
  return is_parameter_column(column) || is_quantity_column(column);
}

Error unknown_column(const CsvTable& table, const std::string& column, const std::string& hint) {
  return Error(fmt::format("{}:1: unknown column '{}'; {}", table.file, column, hint));
}

}  // namespace

std::span<const std::string_view> operator_columns() {
  return kOperatorColumns;
}

std::span<const std::string_view> measured_columns() {
  return kMeasuredColumns;
}

std::vector<std::string> columns_not_read(const CsvTable& table,
                                          std::span<const std::string_view> read,
                                          std::span<const std::string_view> kept) {
  std::vector<std::string> unread;
  for (const std::string& column : table.columns) {
    if (column.starts_with(kKeptPrefix) || contains(read, column)) continue;
    unread.push_back(column);
    if (contains(kept, column) || is_number_column(column)) continue;
    const std::string near = base::nearest(column, {read.begin(), read.end()});
    if (!near.empty()) throw unknown_column(table, column, fmt::format("did you mean '{}'?", near));
  }
  return unread;
}

void allow_only_columns(const CsvTable& table, std::span<const std::string_view> read,
                        std::span<const std::string_view> kept) {
  for (const std::string& column : columns_not_read(table, read, kept)) {
    if (contains(kept, column) || is_number_column(column)) continue;
    throw unknown_column(table, column,
                         fmt::format("known are {}, {}; columns of your own start with x_, "
                                     "parameters with p_",
                                     fmt::join(read, ", "), fmt::join(kept, ", ")));
  }
}

namespace {

constexpr std::string_view kParameterPrefix = "p_", kQuantityPrefix = "q_";

// NaN for an empty cell.
float float_cell(const CsvTable& table, const CsvRow& row, const std::string& column) {
  const std::string_view text = table.cell(row, column);
  const std::optional<float> value = base::parse_number<float>(text);
  if (!text.empty() && !value) {
    throw Error(fmt::format("{}: got '{}', expected a number or an empty cell",
                            table.where(row, column), text.substr(0, 60)));
  }
  return value.value_or(std::numeric_limits<float>::quiet_NaN());
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
  if (std::ranges::find(kOperatorColumns, column) != kOperatorColumns.end()) return false;  // q_len
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

#include "measured/known_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "measured/parameter_columns.h"

namespace tilecast::measured {
namespace {

constexpr std::array<std::string_view, 27> kOperatorColumns{
    "op",     "execution", "dtype", "out_dtype", "batch",      "m",        "n",
    "k",      "h",         "w",     "ci",        "co",         "kh",       "kw",
    "stride", "padding",   "rows",  "columns",   "elements",   "shape",    "devices",
    "layers", "nodes",     "input", "output",    "transposed", "precision"};
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

}  // namespace tilecast::measured

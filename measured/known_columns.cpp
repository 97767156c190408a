#include "measured/known_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "measured/parameter_columns.h"

namespace tilecast::measured {
namespace {

constexpr std::array<std::string_view, 24> kOperatorColumns{
    "op",   "execution", "dtype",    "out_dtype", "batch",  "m",     "n",      "k",
    "h",    "w",         "ci",       "co",        "kh",     "kw",    "stride", "padding",
    "rows", "columns",   "elements", "devices",   "layers", "nodes", "input",  "output"};
constexpr std::array<std::string_view, 8> kMeasuredColumns{
    "runtime_ns", "dispatch_ns", "device", "class", "family", "repeats", "spread_ns", "split"};
constexpr std::string_view kKeptPrefix = "x_";

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
    if (std::ranges::find(read, column) != read.end()) continue;
    if (std::ranges::find(kept, column) == kept.end() && !column.starts_with(kKeptPrefix) &&
        !is_parameter_column(column)) {
      std::vector<std::string_view> known(read.begin(), read.end());
      known.insert(known.end(), kept.begin(), kept.end());
      const std::string near = base::nearest(column, known);
      throw Error(fmt::format("{}:1: unknown column '{}'; {}", table.file, column,
                              near.empty() ? fmt::format("known are {}; columns of your own start "
                                                         "with x_, parameters with p_",
                                                         fmt::join(known, ", "))
                                           : fmt::format("did you mean '{}'?", near)));
    }
    if (!column.starts_with(kKeptPrefix)) unread.push_back(column);
  }
  return unread;
}

}  // namespace tilecast::measured

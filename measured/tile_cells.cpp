#include "measured/tile_cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/error.h"

namespace tilecast::measured {
namespace {

ir::Dims bounds(const CsvTable& table, const CsvRow& row, std::string_view column) {
  const std::vector<std::int64_t> list = integer_list_cell(table, row, column);
  return {list.begin(), list.end()};
}

int one_number(const CsvTable& table, const CsvRow& row, std::string_view column) {
  const ir::Dims list = bounds(table, row, column);
  constexpr std::int64_t kMost = 1024;
  if (list.empty()) return 0;
  if (list.size() == 1 && list[0] >= 1 && list[0] <= kMost) return static_cast<int>(list[0]);
  throw Error(fmt::format("{}: got '{}', expected a number from 1 to {}", table.where(row, column),
                          table.cell(row, column), kMost));
}

}  // namespace

std::span<const std::string_view> tile_columns() {
  static constexpr std::array<std::string_view, 10> kColumns{
      "output_bounds", "kernel_bounds", "input_bounds", "stages", "warps",
      "threads",       "vector",        "direct",       "order",  "unroll"};
  return kColumns;
}

std::vector<std::string> tile_texts(const analytical::TileConfig& tile) {
  const auto list = [](const ir::Dims& bounds) {
    return fmt::format("{}", fmt::join(bounds, " "));
  };
  const auto number = [](int value) { return value == 0 ? std::string() : std::to_string(value); };
  return {list(tile.output),  list(tile.kernel),  list(tile.input),  number(tile.stages),
          number(tile.warps), list(tile.threads), list(tile.vector), tile.direct ? "1" : "",
          list(tile.order),   number(tile.unroll)};
}

analytical::TileConfig tile_cells(const CsvTable& table, const CsvRow& row) {
  return {.output = bounds(table, row, "output_bounds"),
          .kernel = bounds(table, row, "kernel_bounds"),
          .input = bounds(table, row, "input_bounds"),
          .stages = one_number(table, row, "stages"),
          .warps = one_number(table, row, "warps"),
          .threads = bounds(table, row, "threads"),
          .vector = bounds(table, row, "vector"),
          .direct = one_number(table, row, "direct") == 1,
          .order = bounds(table, row, "order"),
          .unroll = one_number(table, row, "unroll")};
}

}  // namespace tilecast::measured

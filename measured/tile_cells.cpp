#include "measured/tile_cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analytical/tile.h"
#include "base/error.h"

namespace tilecast::measured {

std::span<const std::string_view> tile_columns() {
  static const std::vector<std::string_view> columns = [] {
    std::vector<std::string_view> names;
    for (const analytical::TilePart& part : analytical::tile_parts()) names.push_back(part.column);
    return names;
  }();
  return columns;
}

std::vector<std::string> tile_texts(const analytical::TileConfig& tile) {
  std::vector<std::string> texts;
  for (const analytical::TilePart& part : analytical::tile_parts()) {
    texts.push_back(fmt::format("{}", fmt::join(part.numbers(tile), " ")));
  }
  return texts;
}

analytical::TileConfig tile_cells(const CsvTable& table, const CsvRow& row) {
  analytical::TileConfig tile;
  for (const analytical::TilePart& part : analytical::tile_parts()) {
    const std::vector<std::int64_t> list = integer_list_cell(table, row, part.column);
    const bool is_number =
        list.size() == 1 && list[0] >= 1 && list[0] <= analytical::TilePart::kMost;
    if (!part.is_list() && !list.empty() && !is_number) {
      throw Error(fmt::format("{}: got '{}', expected a number from 1 to {}",
                              table.where(row, part.column), table.cell(row, part.column),
                              analytical::TilePart::kMost));
    }
    part.set(tile, {list.begin(), list.end()});
  }
  return tile;
}

}  // namespace tilecast::measured

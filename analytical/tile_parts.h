// The parts of a tile, each described once: what texts, tables, JSON, Python and HTTP call it, and
// how it is read and set as a list of numbers.
//
//   for (const TilePart& part : tile_parts()) print(part.name, part.numbers(tile));
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "analytical/tile.h"

namespace tilecast::analytical {

struct TilePart {
  std::string_view name;    // "output": of JSON, HTTP and Python
  std::string_view word;    // "out": of to_string() and parse_tile()
  std::string_view column;  // "output_bounds": of tables
  std::string_view meaning;
  std::variant<ir::Dims TileConfig::*, int TileConfig::*, bool TileConfig::*> of;

  static constexpr std::int64_t kMost = 1024;  // of a part that is one number
  // A number for each dimension, else one number, or whether it is so (1).
  [[nodiscard]] bool is_list() const { return of.index() == 0; }
  [[nodiscard]] bool is_bounds() const { return column.ends_with("_bounds"); }
  [[nodiscard]] bool is_flag() const { return of.index() == 2; }
  // None where the tile does not say.
  [[nodiscard]] ir::Dims numbers(const TileConfig& tile) const;
  // `numbers`: at most one up to kMost, unless it is a list.
  void set(TileConfig& tile, const ir::Dims& numbers) const;
};
// In the order in which everything shows them.
[[nodiscard]] std::span<const TilePart> tile_parts();

}  // namespace tilecast::analytical

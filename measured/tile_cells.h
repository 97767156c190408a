// Reads and writes the tile of a table row (analytical/tile.h). Columns: output_bounds,
// kernel_bounds, input_bounds, threads, vector and order (numbers separated by spaces); stages,
// warps and unroll (a number each); direct (1 or empty). Thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/tile.h"
#include "measured/csv.h"

namespace tilecast::measured {

[[nodiscard]] std::span<const std::string_view> tile_columns();
// The cells of a tile, in the order of tile_columns(); the inverse of tile_cells().
[[nodiscard]] std::vector<std::string> tile_texts(const analytical::TileConfig& tile);

// Absent columns and empty cells leave the tile's field unset. Throws Error, with the position, for
// a cell that is not a list of numbers and for stages, warps or unroll outside 1 to 1024.
[[nodiscard]] analytical::TileConfig tile_cells(const CsvTable& table, const CsvRow& row);

}  // namespace tilecast::measured

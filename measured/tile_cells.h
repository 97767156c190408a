// The tile of a row of a table (analytical/tile.h): output_bounds, kernel_bounds and input_bounds,
// numbers separated by spaces; stages, warps and unroll, a number each; threads, vector and order,
// as bounds; direct, 1 or empty. Thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/tile.h"
#include "measured/csv.h"

namespace tilecast::measured {

[[nodiscard]] std::span<const std::string_view> tile_columns();
// A cell of each of them; tile_cells() of a row that holds them is the tile.
[[nodiscard]] std::vector<std::string> tile_texts(const analytical::TileConfig& tile);

// Columns that are not there and empty cells say nothing. Throws Error, with the place, for a cell
// that is no list of numbers, and for stages, warps or unroll that are not 1 to 1024.
[[nodiscard]] analytical::TileConfig tile_cells(const CsvTable& table, const CsvRow& row);

}  // namespace tilecast::measured

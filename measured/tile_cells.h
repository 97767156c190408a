// The tile of a row of a table (analytical/tile.h): output_bounds, kernel_bounds and input_bounds,
// numbers separated by spaces; stages and warps, a number each; threads and vector, as bounds;
// direct, 1 or empty. Thread-safe.
#pragma once

#include "analytical/tile.h"
#include "measured/csv.h"

namespace tilecast::measured {

// Columns that are not there and empty cells say nothing. Throws Error, with the place, for a cell
// that is no list of numbers, and for stages or warps that are not 1 to 1024.
[[nodiscard]] analytical::TileConfig tile_cells(const CsvTable& table, const CsvRow& row);

}  // namespace tilecast::measured

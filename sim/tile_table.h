// One kernel and a CSV of tiles -> the same rows with estimate_ns, bound, utilisation (0..1), or
// the reason why the tile cannot run.
//
// Read columns: those of measured/tile_cells.h; an empty cell cuts nothing; a row without any is
// estimated with the best tile.
#pragma once

#include <string>

#include "analytical/analytical_model.h"
#include "analytical/tile_ranker.h"
#include "measured/csv.h"

namespace tilecast::sim {

// Columns that say nothing about tiles are kept, not read: their names, without x_*. Throws
// Error for one that looks like a misspelt column of tiles.
[[nodiscard]] std::vector<std::string> unread_tile_columns(const measured::CsvTable& table);

// `model`: what predicts the tiles that can run; null: the analytical one. Where it learned from
// measurements, columns analytical_ns, factor, verdict, low_ns and high_ns (90 %) are added.
// `ranker`: what orders tiles where that is not `model`: column rank is added, 1 is fastest.
// Throws Error for a table without tile columns or with cells that are not lists of numbers.
[[nodiscard]] measured::CsvTable estimate_tiles(const measured::CsvTable& table,
                                                const ir::Kernel& kernel,
                                                const hwdesc::Device& device,
                                                const analytical::CostModel* model = nullptr,
                                                const analytical::TileRanker* ranker = nullptr);

// Listed tiles as such a table.
[[nodiscard]] measured::CsvTable table_of_tiles(std::span<const analytical::TileConfig> tiles);
// The `most` rows of estimate_tiles() that can run and are fastest; by `rank` where there is one.
[[nodiscard]] measured::CsvTable fastest_rows(measured::CsvTable table, std::size_t most);

// The rows whose `file` cell names the same file as `path`; all rows when there is no such column.
[[nodiscard]] measured::CsvTable rows_of_file(const measured::CsvTable& table,
                                              const std::string& path);

}  // namespace tilecast::sim

// One kernel and a CSV of tiles -> the same rows with estimate_ns, bound, utilisation (0..1), or
// the reason why the tile cannot run, and energy_uJ (of one launch, with idle power) where the
// device describes energy.
//
// Read columns: those of measured/tile_cells.h; an empty cell cuts nothing; a row without any is
// estimated with the best tile.
#pragma once

#include <string>

#include "measured/csv.h"
#include "search/tile_choice.h"

namespace tilecast::sim {

// Columns that say nothing about tiles are kept, not read: their names, without x_*. Throws
// Error for one that looks like a misspelt column of tiles.
[[nodiscard]] std::vector<std::string> unread_tile_columns(const measured::CsvTable& table);

// `model`: what predicts the tiles that can run; null: the analytical one. Where it learned from
// measurements, columns analytical_ns, factor, verdict, low_ns and high_ns (90 %) are added.
// `ranker`: what orders tiles where that is not `model`: column rank is added, 1 is the best of the
// rows that have a tile (search::rank_offered).
// Throws Error for a table without tile columns or with cells that are not lists of numbers.
[[nodiscard]] measured::CsvTable estimate_tiles(const measured::CsvTable& table,
                                                const ir::Kernel& kernel,
                                                const hwdesc::Device& device,
                                                const analytical::CostModel* model = nullptr,
                                                const analytical::TileRanker* ranker = nullptr);

// Tiles as such a table, and back, by row. Throws Error as estimate_tiles().
[[nodiscard]] measured::CsvTable table_of_tiles(std::span<const analytical::TileConfig> tiles);
[[nodiscard]] std::vector<analytical::TileConfig> tiles_of_table(const measured::CsvTable& table);
// Of the rows' tiles, by row; a row without a tile offers none.
[[nodiscard]] search::OfferRanking rank_rows(
    std::span<const analytical::TileConfig> tiles, const ir::Kernel& kernel,
    const hwdesc::Device& device, const analytical::TileRanker& ranker,
    std::size_t most = std::numeric_limits<std::size_t>::max());

// Rows to answer, of those offered; why_none: nothing was chosen (search/tile_choice.h).
struct OfferedRows {
  measured::CsvTable rows;
  std::string why_none = {};
  std::size_t offered = 0;
};
inline constexpr std::size_t kMostListedTiles = 100'000, kShownTiles = 10;
// The first `most` in the ranker's order of the tiles that are listed, or of the rows of a table.
[[nodiscard]] OfferedRows fastest_listed(const ir::Kernel& kernel, const hwdesc::Device& device,
                                         const analytical::TileRanker& order,
                                         analytical::TileSet listing, std::size_t most);
[[nodiscard]] OfferedRows fastest_rows(const measured::CsvTable& table, const ir::Kernel& kernel,
                                       const hwdesc::Device& device,
                                       const analytical::TileRanker& order, std::size_t most);

// The rows whose `file` cell names the same file as `path`; all rows when there is no such column.
[[nodiscard]] measured::CsvTable rows_of_file(const measured::CsvTable& table,
                                              const std::string& path);

}  // namespace tilecast::sim

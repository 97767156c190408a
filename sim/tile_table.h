// Estimates a CSV of tiles for one kernel: the same rows with estimate_ns, bound, utilisation
// (0..1), or the reason why the tile cannot run, and energy_uJ (per launch, with idle power) if the
// device describes energy.
//
// Columns: measured/tile_cells.h. An empty cell leaves that part untiled; a row without any cell is
// estimated with the best tile.
#pragma once

#include <string>

#include "measured/csv.h"
#include "search/tile_choice.h"

namespace tilecast::sim {

// Names of columns that no tile uses; they are copied. Excludes x_*. Throws Error for a name that
// looks like a misspelt tile column.
[[nodiscard]] std::vector<std::string> unread_tile_columns(const measured::CsvTable& table);

// `model` predicts tiles that can run; null: the analytical model. If it learned from measurements,
// the columns analytical_ns, factor, verdict, low_ns and high_ns (90 %) are added.
// `ranker` orders tiles if that is not done by `model`: adds the column rank, 1 for the best row
// with a tile (search::rank_offered).
// Throws Error for a table without tile columns or with cells that are not lists of numbers.
[[nodiscard]] measured::CsvTable estimate_tiles(const measured::CsvTable& table,
                                                const ir::Kernel& kernel,
                                                const hwdesc::Device& device,
                                                const analytical::CostModel* model = nullptr,
                                                const analytical::TileRanker* ranker = nullptr);

// Convert tiles to such a table and back, one per row. Throw Error as estimate_tiles().
[[nodiscard]] measured::CsvTable table_of_tiles(std::span<const analytical::TileConfig> tiles);
[[nodiscard]] std::vector<analytical::TileConfig> tiles_of_table(const measured::CsvTable& table);
// Ranks the rows' tiles; a row without a tile is not ranked.
[[nodiscard]] search::OfferRanking rank_rows(
    std::span<const analytical::TileConfig> tiles, const ir::Kernel& kernel,
    const hwdesc::Device& device, const analytical::TileRanker& ranker,
    std::size_t most = std::numeric_limits<std::size_t>::max());

// The rows chosen from those offered; why_none: the reason if none was chosen
// (search/tile_choice.h).
struct OfferedRows {
  measured::CsvTable rows;
  std::string why_none = {};
  std::size_t offered = 0;
};
inline constexpr std::size_t kMostListedTiles = 100'000, kShownTiles = 10;
// The best `most` in the ranker's order, of the listed tiles or of the rows of a table.
[[nodiscard]] OfferedRows fastest_listed(const ir::Kernel& kernel, const hwdesc::Device& device,
                                         const analytical::TileRanker& order,
                                         analytical::TileSet listing, std::size_t most);
[[nodiscard]] OfferedRows fastest_rows(const measured::CsvTable& table, const ir::Kernel& kernel,
                                       const hwdesc::Device& device,
                                       const analytical::TileRanker& order, std::size_t most);

// The rows whose `file` cell names the same file as `path`; all rows if there is no such column.
[[nodiscard]] measured::CsvTable rows_of_file(const measured::CsvTable& table,
                                              const std::string& path);

}  // namespace tilecast::sim

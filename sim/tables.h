// Tables of operators, tiles and kernels.
//
// Estimates a CSV of single operators: the same rows with estimate_ns, bound and utilisation
// (0..1). An operator with several launches gets their sum, the bound of the longest launch, and
// the utilisation of the sum. Where the device describes energy, with energy_uJ (with idle power),
// power_W (its average), both of a core, and clock_MHz (of the longest launch: lower under a power
// limit). Columns and operators: measured/op_kernels.h. Keeps the row order; the result is the same
// for any number of jobs.
#pragma once

#include <string>

#include "analytical/cost_model.h"
#include "ir/program.h"
#include "measured/csv.h"
#include "search/tile_choice.h"

namespace tilecast::sim {

struct OpTableOptions {
  bool keep_going = false;  // put the message of a bad row into column `error` and continue
  bool repeated = false;    // the largest operand of a product stays on chip between runs
  int jobs = 1;
};

// Names of columns that no operator uses; they are copied. Excludes x_*. Throws Error for a name
// that looks like a misspelt operator column.
[[nodiscard]] std::vector<std::string> unread_op_columns(const measured::CsvTable& table);

// Throws Error naming file, row and column of the first bad row.
[[nodiscard]] measured::CsvTable estimate_operators(const measured::CsvTable& table,
                                                    const hwdesc::Device& device,
                                                    const analytical::CostModel& model,
                                                    const OpTableOptions& options = {});

// Estimates a CSV of tiles for one kernel: the same rows with estimate_ns, bound, utilisation
// (0..1), or the reason why the tile cannot run, and energy_uJ (per launch, with idle power) if the
// device describes energy.
//
// Columns: measured/tile_cells.h. An empty cell leaves that part untiled; a row without any cell is
// estimated with the best tile.

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
inline constexpr std::size_t kShownTiles = 10;
// "ladder", "all", "schedules"; throws Error for anything else.
[[nodiscard]] analytical::TileSet tile_set(const std::string& listing);
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

// The kernels of a program with their work, as a table; independent of the device, without times.
// flops, transcendentals and bytes_accessed are counted per launch as in XLA's HloCostAnalysis (-1:
// unknown); padded_bytes are parameters plus outputs in their layouts.
[[nodiscard]] measured::CsvTable kernel_list(const ir::Program& program, const std::string& file);
// The arrays in memory at the peak, one row each, largest first: columns file, at, buffer,
// computation, kind, shape, bytes, share (of the peak), made_at and last_read_at.
[[nodiscard]] measured::CsvTable memory_list(const ir::Program& program, const std::string& file);

}  // namespace tilecast::sim

#include "sim/tile_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "measured/known_columns.h"
#include "measured/tile_cells.h"

namespace tilecast::sim {
namespace {

using analytical::Estimate;
using analytical::TileConfig;

constexpr double kNsPerSecond = 1e9;
// Of measured/importers/import_tiles.cpp.
constexpr std::array<std::string_view, 5> kRunColumns{"compute_time_ns", "config_index",
                                                      "is_default", "iteration_bounds", "error"};
constexpr const char* kCorrectionColumns[] = {"analytical_ns", "factor", "verdict", "low_ns",
                                              "high_ns"};

std::string nanoseconds(Seconds time) {
  return fmt::format("{:.3f}", time.value * kNsPerSecond);
}

using Answer = std::variant<Estimate, analytical::Infeasible>;

Answer analytical_answer(const analytical::KernelAnalysis& analysis, const TileConfig& tile) {
  if (tile == TileConfig{}) return analysis.estimate_best();
  if (!analysis.tileable()) return analytical::Infeasible{"this kernel has no tiles"};
  if (std::string reason = analytical::tile_mismatch(tile, analysis.full_tile()); !reason.empty()) {
    return analytical::Infeasible{std::move(reason)};
  }
  return analysis.estimate(tile);
}

// What `model` says of the tiles that can run.
void ask(const analytical::CostModel& model, const ir::Kernel& kernel, const hwdesc::Device& device,
         const std::vector<TileConfig>& tiles, std::vector<Answer>& answers) {
  std::vector<analytical::KernelQuery> queries;
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (!std::holds_alternative<Estimate>(answers[i])) continue;
    queries.push_back({kernel, tiles[i] == TileConfig{} ? nullptr : &tiles[i]});
    asked.push_back(i);
  }
  auto estimates = model.estimate(queries, device);
  for (std::size_t k = 0; k < asked.size(); ++k) {
    if (estimates[k]) {
      answers[asked[k]] = std::move(*estimates[k]);
    } else {
      answers[asked[k]] = analytical::Infeasible{"outside the model's domain"};
    }
  }
}

std::vector<std::string> cells_of(const Answer& answer, bool corrected) {
  std::vector<std::string> cells{"", "", "", ""};
  const auto* estimate = std::get_if<Estimate>(&answer);
  if (estimate == nullptr) {
    cells.back() = std::get<analytical::Infeasible>(answer).reason;
  } else {
    cells = {nanoseconds(estimate->time), std::string(analytical::name(estimate->bound)),
             fmt::format("{:.4f}", estimate->utilisation), ""};
  }
  if (!corrected) return cells;
  if (estimate == nullptr || !estimate->correction) {
    cells.resize(cells.size() + std::size(kCorrectionColumns));
    return cells;
  }
  const analytical::Correction& c = *estimate->correction;
  cells.insert(cells.end(),
               {nanoseconds(c.analytical), fmt::format("{:.4f}", c.factor),
                std::string(analytical::name(c.verdict)), nanoseconds(c.low), nanoseconds(c.high)});
  return cells;
}

// 1: the lowest score; equal scores have one rank; empty where the tile cannot run.
std::vector<std::string> ranks_of(const std::vector<std::optional<double>>& scores,
                                  std::span<const Answer> answers) {
  std::vector<double> sorted;
  const auto runs = [&](std::size_t i) {
    return scores[i] && std::holds_alternative<Estimate>(answers[i]);
  };
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (runs(i)) sorted.push_back(*scores[i]);
  }
  std::ranges::sort(sorted);
  std::vector<std::string> ranks(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!runs(i)) continue;
    ranks[i] = fmt::format("{}", std::ranges::lower_bound(sorted, *scores[i]) - sorted.begin() + 1);
  }
  return ranks;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::vector<std::string> unread_tile_columns(const measured::CsvTable& table) {
  const auto measured = measured::measured_columns();
  std::vector<std::string_view> kept(measured.begin(), measured.end());
  kept.insert(kept.end(), kRunColumns.begin(), kRunColumns.end());
  std::vector<std::string_view> read{"file"};
  read.insert(read.end(), measured::tile_columns().begin(), measured::tile_columns().end());
  return measured::columns_not_read(table, read, kept);
}

measured::CsvTable estimate_tiles(const measured::CsvTable& table, const ir::Kernel& kernel,
                                  const hwdesc::Device& device, const analytical::CostModel* model,
                                  const analytical::TileRanker* ranker) {
  static_cast<void>(unread_tile_columns(table));
  if (!table.find("output_bounds") && !table.find("kernel_bounds") && !table.find("input_bounds")) {
    throw Error(
        fmt::format("{}:1: no tile columns; got {}, expected output_bounds, kernel_bounds "
                    "or input_bounds",
                    table.file, fmt::join(table.columns, ", ")));
  }
  const analytical::KernelAnalysis analysis(kernel, device);
  std::vector<TileConfig> tiles;
  std::vector<Answer> answers;
  for (const measured::CsvRow& row : table.rows) {
    tiles.push_back(measured::tile_cells(table, row));
    answers.push_back(analytical_answer(analysis, tiles.back()));
  }
  if (model != nullptr) ask(*model, kernel, device, tiles, answers);
  const bool corrected = std::ranges::any_of(answers, [](const Answer& answer) {
    const auto* estimate = std::get_if<Estimate>(&answer);
    return estimate != nullptr && estimate->correction.has_value();
  });
  std::vector<std::string> columns{"estimate_ns", "bound", "utilisation", "reason"};
  if (corrected) {
    columns.insert(columns.end(), std::begin(kCorrectionColumns), std::end(kCorrectionColumns));
  }
  if (ranker != nullptr) columns.emplace_back("rank");
  const std::vector<std::string> ranks =
      ranker == nullptr ? std::vector<std::string>()
                        : ranks_of(ranker->scores(kernel, tiles, device), answers);
  measured::CsvTable result = measured::with_columns(table, columns);
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    std::vector<std::string> cells = cells_of(answers[i], corrected);
    if (ranker != nullptr) cells.push_back(ranks[i]);
    result.rows[i].cells.insert(result.rows[i].cells.end(), cells.begin(), cells.end());
  }
  return result;
}

measured::CsvTable table_of_tiles(std::span<const TileConfig> tiles) {
  measured::CsvTable table{"listed tiles", {"output_bounds", "kernel_bounds"}, {}};
  const bool scheduled = std::ranges::any_of(
      tiles, [](const TileConfig& tile) { return tile.stages > 0 || tile.warps > 0; });
  if (scheduled) table.columns.insert(table.columns.end(), {"stages", "warps"});
  for (const TileConfig& tile : tiles) {
    std::vector<std::string> cells{fmt::format("{}", fmt::join(tile.output, " ")),
                                   fmt::format("{}", fmt::join(tile.kernel, " "))};
    if (scheduled)
      cells.insert(cells.end(), {fmt::to_string(tile.stages), fmt::to_string(tile.warps)});
    table.rows.push_back({.cells = std::move(cells)});
  }
  return table;
}

measured::CsvTable fastest_rows(measured::CsvTable table, std::size_t most) {
  const std::string_view by = table.find("rank") ? "rank" : "estimate_ns";
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::string_view cell = table.cell(table.rows[i], by);
    if (!cell.empty()) order.emplace_back(*base::parse_number(cell), i);
  }
  std::ranges::sort(order);
  if (order.size() > most) order.resize(most);
  std::vector<measured::CsvRow> rows;
  for (const auto& [value, row] : order) rows.push_back(std::move(table.rows[row]));
  table.rows = std::move(rows);
  return table;
}

measured::CsvTable rows_of_file(const measured::CsvTable& table, const std::string& path) {
  if (!table.find("file")) return table;
  measured::CsvTable result{table.file, table.columns, {}};
  for (const measured::CsvRow& row : table.rows) {
    if (base_name(table.cell(row, "file")) == base_name(path)) result.rows.push_back(row);
  }
  return result;
}

}  // namespace tilecast::sim

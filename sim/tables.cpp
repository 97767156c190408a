#include "sim/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "ir/load_program.h"
#include "measured/known_columns.h"
#include "measured/op_kernels.h"
#include "measured/tile_cells.h"
#include "sim/views/rows.h"

namespace tilecast::sim {
namespace {

std::string nanoseconds(Seconds time) {
  constexpr double kNanosecondsPerSecond = 1e9;
  return fmt::format("{:.3f}", time.value * kNanosecondsPerSecond);
}

constexpr double kHertzPerMHz = 1e6;
// Of an operator: with idle power; average; of the launch that takes longest.
constexpr const char* kEnergyColumns[] = {"energy_uJ", "power_W", "clock_MHz"};

std::string microjoules(Joules energy) {
  constexpr double kMicrojoulesPerJoule = 1e6;
  return fmt::format("{:.3f}", energy.value * kMicrojoulesPerJoule);
}

// Per launch, with idle power; nullopt: not described.
std::optional<Joules> energy_of(const analytical::Estimate& estimate,
                                const hwdesc::Device& device) {
  if (!estimate.energy) return std::nullopt;
  return estimate.energy->total() + device.idle_power() * estimate.time;
}

void check_op_columns(const measured::CsvTable& table) {
  static_cast<void>(unread_op_columns(table));
  if (table.find("op")) return;
  throw Error(
      "{}:1: no column 'op'; got {}, expected op, dtype and the columns of the operators (tilecast "
      "ops --help lists them)",
      table.file, fmt::join(table.columns, ", "));
}

std::vector<std::string> answer_cells(const measured::CsvTable& table, const measured::CsvRow& row,
                                      const hwdesc::Device& device,
                                      const analytical::CostModel& model,
                                      const measured::OpDefaults& defaults) {
  const std::vector<ir::Kernel> launches = measured::operator_launches(table, row, defaults);
  std::vector<analytical::KernelQuery> queries;
  for (const ir::Kernel& launch : launches) queries.push_back({launch});
  std::vector<std::optional<analytical::Estimate>> answers;
  try {
    answers = model.estimate(queries, device);
  } catch (const Error& error) {
    throw Error("{}:{}: {}", table.file, row.line, error.what());
  }
  Seconds time{0}, speed_of_light{0};
  Joules energy{0};
  const analytical::Estimate* longest = nullptr;
  for (const std::optional<analytical::Estimate>& answer : answers) {
    if (!answer) {
      throw Error("{}: no model for {} on device {}", table.where(row, "op"), table.cell(row, "op"),
                  device.name);
    }
    time += answer->time;
    speed_of_light += answer->time * answer->utilisation;
    energy += energy_of(*answer, device).value_or(Joules{0});
    if (longest == nullptr || answer->time > longest->time) longest = &*answer;
  }
  std::vector<std::string> cells{
      nanoseconds(time), std::string(analytical::name(longest->bound)),
      fmt::format("{:.4f}", time.value > 0 ? speed_of_light / time : longest->utilisation)};
  if (!device.energy) return cells;
  if (!longest->energy) {
    cells.resize(cells.size() + std::size(kEnergyColumns));
    return cells;
  }
  cells.push_back(microjoules(energy));
  cells.push_back(fmt::format("{:.1f}", time.value > 0 ? (energy / time).value : 0));
  cells.push_back(fmt::format("{:.0f}", longest->clock_factor * device.clock.value / kHertzPerMHz));
  return cells;
}

using analytical::Estimate;
using analytical::TileConfig;

// Columns of measured tile runs (measured/importers/column_mapping.h).
constexpr std::array<std::string_view, 5> kRunColumns{"compute_time_ns", "config_index",
                                                      "is_default", "iteration_bounds", "error"};
constexpr const char* kCorrectionColumns[] = {"analytical_ns", "factor", "verdict", "low_ns",
                                              "high_ns"};

using Answer = std::variant<Estimate, analytical::Infeasible>;

// Estimates the tiles that can run with `model`.
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

// Empty if the tile cannot run.
std::string energy_cell(const Answer& answer, const hwdesc::Device& device) {
  const auto* estimate = std::get_if<Estimate>(&answer);
  const auto energy = estimate == nullptr ? std::nullopt : energy_of(*estimate, device);
  return energy ? microjoules(*energy) : "";
}

// 1: the lowest score; equal scores share a rank; empty without a tile or a score.
std::vector<std::string> ranks_of(std::span<const search::RankedOffer> best,
                                  std::span<const Answer> answers) {
  std::vector<std::string> ranks(answers.size());
  std::size_t number = 0, rank = 0;
  std::optional<double> last;
  for (const search::RankedOffer& one : best) {
    if (!std::holds_alternative<Estimate>(answers[one.offer])) continue;
    ++number;
    if (last != one.score) rank = number;
    last = one.score;
    ranks[one.offer] = fmt::to_string(rank);
  }
  return ranks;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

double padded_bytes(const ir::Kernel& kernel) {
  double total = 0;
  for (const auto& ids : {kernel.parameters(), kernel.outputs()}) {
    for (const ir::OpId id : ids) total += double(ir::padded_bytes(kernel.op(id).shape));
  }
  return total;
}

}  // namespace

std::vector<std::string> unread_op_columns(const measured::CsvTable& table) {
  return measured::columns_not_read(table, measured::operator_columns(),
                                    measured::measured_columns());
}

measured::CsvTable estimate_operators(const measured::CsvTable& table, const hwdesc::Device& device,
                                      const analytical::CostModel& model,
                                      const OpTableOptions& options) {
  check_op_columns(table);
  measured::CsvTable result =
      measured::with_columns(table, {"estimate_ns", "bound", "utilisation"});
  if (device.energy) {
    result = measured::with_columns(result, {std::begin(kEnergyColumns), std::end(kEnergyColumns)});
  }
  const std::size_t answered = result.columns.size() - table.columns.size();
  if (options.keep_going) result = measured::with_columns(result, {"error"});
  const measured::OpDefaults defaults = measured::op_defaults(device, options.repeated);
  if (!options.keep_going) {  // report a bad row before computing the others
    base::parallel_for(table.rows.size(), options.jobs, [&](std::size_t i) {
      static_cast<void>(measured::operator_launches(table, table.rows[i], defaults));
    });
  }
  base::parallel_for(table.rows.size(), options.jobs, [&](std::size_t i) {
    std::vector<std::string>& cells = result.rows[i].cells;
    std::vector<std::string> answer;
    try {
      answer = answer_cells(table, table.rows[i], device, model, defaults);
      if (options.keep_going) answer.emplace_back();
    } catch (const Error& error) {
      if (!options.keep_going) throw;
      answer.assign(answered, "");
      answer.emplace_back(error.what());
    }
    cells.insert(cells.end(), answer.begin(), answer.end());
  });
  return result;
}

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
  const analytical::KernelAnalysis analysis(kernel, device);
  const std::vector<TileConfig> tiles = tiles_of_table(table);
  std::vector<Answer> answers;
  for (const TileConfig& tile : tiles) {
    answers.push_back(tile == TileConfig{} ? analysis.estimate_best() : analysis.estimate(tile));
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
  if (device.energy) columns.emplace_back("energy_uJ");
  const std::vector<std::string> ranks =
      ranker == nullptr ? std::vector<std::string>()
                        : ranks_of(rank_rows(tiles, kernel, device, *ranker).best, answers);
  measured::CsvTable result = measured::with_columns(table, columns);
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    std::vector<std::string> cells = cells_of(answers[i], corrected);
    if (ranker != nullptr) cells.push_back(ranks[i]);
    if (device.energy) cells.push_back(energy_cell(answers[i], device));
    result.rows[i].cells.insert(result.rows[i].cells.end(), cells.begin(), cells.end());
  }
  return result;
}

measured::CsvTable table_of_tiles(std::span<const TileConfig> tiles) {
  constexpr std::size_t kAlways = 2;  // output_bounds, kernel_bounds
  std::vector<std::vector<std::string>> texts;
  for (const TileConfig& tile : tiles) texts.push_back(measured::tile_texts(tile));
  measured::CsvTable table{"listed tiles", {}, {}};
  table.rows.resize(tiles.size());
  const auto columns = measured::tile_columns();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const auto says = [c](const std::vector<std::string>& cells) { return !cells[c].empty(); };
    if (c >= kAlways && std::ranges::none_of(texts, says)) continue;
    table.columns.emplace_back(columns[c]);
    for (std::size_t i = 0; i < tiles.size(); ++i) table.rows[i].cells.push_back(texts[i][c]);
  }
  return table;
}

std::vector<TileConfig> tiles_of_table(const measured::CsvTable& table) {
  static_cast<void>(unread_tile_columns(table));
  if (!table.find("output_bounds") && !table.find("kernel_bounds") && !table.find("input_bounds")) {
    throw Error(
        "{}:1: no tile columns; got {}, expected output_bounds, kernel_bounds or input_bounds",
        table.file, fmt::join(table.columns, ", "));
  }
  std::vector<TileConfig> tiles;
  for (const measured::CsvRow& row : table.rows) tiles.push_back(measured::tile_cells(table, row));
  return tiles;
}

search::OfferRanking rank_rows(std::span<const TileConfig> tiles, const ir::Kernel& kernel,
                               const hwdesc::Device& device, const analytical::TileRanker& ranker,
                               std::size_t most) {
  std::vector<TileConfig> offered;
  std::vector<std::size_t> rows;  // by offer
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (tiles[i] == TileConfig{}) continue;
    offered.push_back(tiles[i]);
    rows.push_back(i);
  }
  search::OfferRanking ranking = search::rank_offered(kernel, device, ranker, offered, most);
  for (search::RankedOffer& one : ranking.best) one.offer = rows[one.offer];
  return ranking;
}

analytical::TileSet tile_set(const std::string& listing) {
  using enum analytical::TileSet;
  if (listing == "ladder") return kLadder;
  if (listing == "all") return kAll;
  if (listing == "schedules") return kSchedules;
  throw Error("listing: got '{}', expected ladder, all or schedules", listing);
}

OfferedRows fastest_listed(const ir::Kernel& kernel, const hwdesc::Device& device,
                           const analytical::TileRanker& order, analytical::TileSet listing,
                           std::size_t most) {
  constexpr std::size_t kMostListed = 100'000;
  const auto tiles = analytical::KernelAnalysis(kernel, device).tiles(kMostListed, listing);
  if (tiles.empty()) return {};
  const search::OfferRanking ranking = search::rank_offered(kernel, device, order, tiles, most);
  std::vector<TileConfig> best;
  for (const search::RankedOffer& one : ranking.best) best.push_back(tiles[one.offer]);
  return {table_of_tiles(best), ranking.why_none, tiles.size()};
}

OfferedRows fastest_rows(const measured::CsvTable& table, const ir::Kernel& kernel,
                         const hwdesc::Device& device, const analytical::TileRanker& order,
                         std::size_t most) {
  const search::OfferRanking ranking =
      rank_rows(tiles_of_table(table), kernel, device, order, most);
  measured::CsvTable fastest{table.file, table.columns, {}};
  for (const search::RankedOffer& one : ranking.best) fastest.rows.push_back(table.rows[one.offer]);
  return {std::move(fastest), ranking.why_none, table.rows.size()};
}

measured::CsvTable rows_of_file(const measured::CsvTable& table, const std::string& path) {
  if (!table.find("file")) return table;
  measured::CsvTable result{table.file, table.columns, {}};
  for (const measured::CsvRow& row : table.rows) {
    if (base_name(table.cell(row, "file")) == base_name(path)) result.rows.push_back(row);
  }
  return result;
}

measured::CsvTable kernel_list(const ir::Program& program, const std::string& file) {
  measured::CsvTable list{file,
                          {"file", "kernel", "opcode", "computation", "launches", "ops", "flops",
                           "transcendentals", "bytes_accessed", "padded_bytes"},
                          {}};
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    const ir::Kernel& kernel = scheduled.kernel;
    const ir::WorkCounts& work = kernel.work();
    views::add_row(list, file, kernel.name(), ir::name(kernel.opcode()), scheduled.computation,
                   scheduled.multiplicity, kernel.ops().size(), double(work.flops),
                   double(work.transcendentals), double(work.bytes_accessed), padded_bytes(kernel));
  }
  return list;
}

measured::CsvTable memory_list(const ir::Program& program, const std::string& file) {
  measured::CsvTable list{file,
                          {"file", "at", "buffer", "computation", "kind", "shape", "bytes", "share",
                           "made_at", "last_read_at"},
                          {}};
  const ir::MemoryUse& use = program.memory();
  const double peak = use.peak.total();
  for (const ir::LiveBuffer& buffer : use.live) {
    const std::string element = buffer.leaf > 0 ? fmt::format("{{{}}}", buffer.leaf) : "";
    views::add_row(list, file, use.at, buffer.name + element, buffer.computation,
                   ir::name(buffer.kind), ir::to_string(buffer.shape), buffer.bytes,
                   fmt::format("{:.4f}", buffer.bytes / peak), buffer.made_at, buffer.last_read_at);
  }
  return list;
}

}  // namespace tilecast::sim

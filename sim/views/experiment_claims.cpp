#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/views/evaluation.h"
#include "sim/views/experiment.h"

namespace tilecast::sim::views {
namespace {

using measured::Metric;
using validation::BarResult;
using validation::Cell;
using validation::DirectionResult;
using validation::ExperimentResult;

std::string exact(Metric metric, double value) {
  if (std::isnan(value)) return "-";
  return is_share(metric) ? fmt::format("{:.2f} %", 100 * value) : fmt::format("{:.3f}", value);
}

std::string exact(Metric metric, const std::optional<double>& value) {
  return value ? exact(metric, *value) : "undefined";
}

std::string difference_text(const DirectionResult& result) {
  if (!result.difference) {
    return fmt::format("{} {}, a 95 % interval needs 3", result.seeds,
                       result.seeds == 1 ? "seed" : "seeds");
  }
  const Metric metric = result.direction.metric;
  return fmt::format("difference [{}, {}] over {} seeds, 95 %",
                     exact(metric, result.difference->low), exact(metric, result.difference->high),
                     result.seeds);
}

// Kernels with several tiles for rankings of tiles, else rows.
std::size_t count_of(const validation::ResultStratum& stratum, Metric metric) {
  return measured::ranks_tiles(metric) ? stratum.kernels_with_tiles : stratum.rows;
}

}  // namespace

std::string experiment_cell(Metric metric, const Cell& cell) {
  if (!cell.worst) return metric_cell(metric, {.value = cell.value, .interval = cell.interval});
  return fmt::format("{} (worst {})",
                     metric_cell(metric, {.value = cell.value, .interval = cell.interval}),
                     metric_value(metric, *cell.worst));
}

std::string bar_text(const validation::BarResult& result) {
  constexpr std::string_view kSigns[] = {"<=", ">=", "<"};
  const validation::Bar& bar = result.bar;
  std::string limit = exact(bar.metric, result.limit);
  if (!bar.limit_column.empty()) {
    const std::string margin =
        bar.margin > 0 ? fmt::format(" + {}", exact(bar.metric, bar.margin)) : "";
    const bool best = bar.limit_column == validation::kBestOther;
    limit = fmt::format("{} ({}{}{})", limit, result.limit_column, best ? ", the best other" : "",
                        margin);
  }
  return fmt::format("{}{} of {}, {}: {}, bar {} {}",
                     bar.over == validation::Statistic::kWorst ? "worst " : "",
                     measured::name(bar.metric), bar.column, result.stratum,
                     result.value ? exact(bar.metric, *result.value) : "undefined",
                     kSigns[static_cast<std::size_t>(bar.kind)], limit);
}

std::string_view name(DirectionResult::Verdict verdict) {
  constexpr std::string_view kNames[] = {"agrees", "disagrees", "undecided"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string direction_text(const DirectionResult& result) {
  const validation::Direction& direction = result.direction;
  return fmt::format(
      "{} ({} of {} {}, of {} {}, {}; {})", direction.finding, measured::name(direction.metric),
      direction.better, exact(direction.metric, result.better), direction.than,
      exact(direction.metric, result.than), direction.stratum, difference_text(result));
}

std::vector<std::vector<std::string>> published_rows(const ExperimentResult& result) {
  const validation::ResultStratum& all = result.strata.front();
  std::vector<std::vector<std::string>> rows;
  for (const validation::Published& published : result.experiment.published) {
    const auto column = std::ranges::find(result.experiment.columns, published.column) -
                        result.experiment.columns.begin();
    const Cell& cell =
        all.cells[static_cast<std::size_t>(column)][static_cast<std::size_t>(published.metric)];
    const measured::ReferenceRow& row = published.row;
    const auto with_value = std::ranges::count_if(
        cell.by_seed, [](const std::optional<double>& value) { return value.has_value(); });
    const std::size_t seeds = std::max<std::size_t>(1, static_cast<std::size_t>(with_value));
    rows.push_back({published.column, metric_title(published.metric),
                    experiment_cell(published.metric, cell),
                    std::to_string(count_of(all, published.metric)), std::to_string(seeds),
                    fmt::format("{}{}", row.value, row.unit == "%" ? " %" : ""),
                    fmt::format("{}, {}: {}, {}; {}, {}", row.file, row.where, row.subject,
                                row.column, row.hardware, row.data)});
  }
  return rows;
}

}  // namespace tilecast::sim::views

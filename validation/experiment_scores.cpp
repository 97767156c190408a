#include "validation/experiment_scores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "measured/importers/column_mapping.h"

namespace tilecast::validation {
namespace {

using measured::Breakdown;
using measured::Metric;

constexpr std::string_view kEvery = "every ", kMeanOver = "mean over ";

// A loss that grows with the distance from the best value.
double badness(Metric metric, double value) {
  if (measured::is_ratio(metric)) return std::abs(std::log(value));
  return more_is_better(metric) ? -value : value;
}

bool is_shown(const Experiment& experiment, const measured::Stratum& stratum) {
  if (stratum.breakdown == Breakdown::kAll) return true;
  const std::vector<std::string>& kernels = experiment.kernels_shown;
  if (stratum.breakdown == Breakdown::kKernel && !kernels.empty()) {
    return std::ranges::any_of(kernels, [&](const std::string& pattern) {
      return measured::fits_pattern(pattern, stratum.name);
    });
  }
  return std::ranges::find(experiment.by, stratum.breakdown) != experiment.by.end();
}

bool asks_for(const Experiment& experiment, Metric metric) {
  const auto is_of = [&](const auto& claim) { return claim.metric == metric; };
  return std::ranges::find(experiment.metrics, metric) != experiment.metrics.end() ||
         std::ranges::any_of(experiment.bars, is_of) ||
         std::ranges::any_of(experiment.published, is_of) ||
         std::ranges::any_of(experiment.directions, is_of);
}

// The stratum of `result` that equals `stratum`; added if missing.
ResultStratum& find_or_add(std::vector<ResultStratum>& result, const measured::Stratum& stratum,
                           std::size_t columns) {
  for (ResultStratum& known : result) {
    if (known.breakdown == stratum.breakdown && known.name == stratum.name) return known;
  }
  result.push_back({.breakdown = stratum.breakdown,
                    .name = stratum.name,
                    .rows = stratum.rows,
                    .rows_measured = stratum.rows_measured,
                    .works = stratum.works,
                    .kernels_with_tiles = stratum.kernels_with_tiles,
                    .kernels_without_fastest = stratum.kernels_without_fastest,
                    .cells = {columns, std::vector<Cell>(measured::kNamedMetricCount)}});
  return result.back();
}

// Adds one seed's value to a cell's mean and worst.
void add(Metric metric, double value, Cell& cell, std::size_t& count) {
  ++count;
  cell.value =
      cell.value ? *cell.value + (value - *cell.value) / static_cast<double>(count) : value;
  if (!cell.worst || badness(metric, value) > badness(metric, *cell.worst)) cell.worst = value;
}

// Adds one sheet's stratum to the total; `counts`: seeds with a value, by column and metric.
void add(const measured::Stratum& stratum, std::size_t sheet, std::size_t sheets,
         ResultStratum& result, std::vector<std::vector<std::size_t>>& counts) {
  for (std::size_t column = 0; column < stratum.columns.size(); ++column) {
    for (std::size_t i = 0; i < measured::kNamedMetricCount; ++i) {
      const auto metric = static_cast<Metric>(i);
      const measured::Score& score = stratum.columns[column][metric];
      if (!score.value) continue;
      Cell& cell = result.cells[column][i];
      if (sheets == 1) {
        cell = {.value = score.value, .worst = {}, .interval = score.interval, .by_seed = {}};
        continue;
      }
      add(metric, *score.value, cell, counts[column][i]);
      cell.by_seed.resize(sheets);
      cell.by_seed[sheet] = score.value;
    }
  }
}

void add_intervals(ResultStratum& stratum) {
  for (std::vector<Cell>& column : stratum.cells) {
    for (Cell& cell : column) {
      std::vector<double> values;
      for (const std::optional<double>& value : cell.by_seed) {
        if (value) values.push_back(*value);
      }
      cell.interval = t_interval(values);
    }
  }
}

const std::optional<double>& value_of(const Bar& bar, const Cell& cell) {
  return bar.over == Statistic::kWorst && cell.worst ? cell.worst : cell.value;
}

// The best column with a value, excluding the bar's own; or empty.
std::string best_other(const Experiment& experiment, const Bar& bar, const ResultStratum& stratum) {
  std::string best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < experiment.columns.size(); ++i) {
    const Cell& cell = stratum.cells[i][static_cast<std::size_t>(bar.metric)];
    const std::optional<double>& value = value_of(bar, cell);
    if (experiment.columns[i] == bar.column || !value) continue;
    if (badness(bar.metric, *value) >= least) continue;
    least = badness(bar.metric, *value);
    best = experiment.columns[i];
  }
  return best;
}

bool holds(Bar::Kind kind, double value, double limit) {
  switch (kind) {
    case Bar::Kind::kAtMost:
      return value <= limit;
    case Bar::Kind::kAtLeast:
      return value >= limit;
    case Bar::Kind::kBelow:
      return value < limit;
  }
  return false;
}

BarResult check(const Experiment& experiment, const Bar& bar, const ResultStratum& stratum) {
  const auto value = [&](const std::string& column) {
    if (column.empty()) return std::optional<double>();
    return value_of(
        bar, stratum.cells[experiment.column_index(column)][static_cast<std::size_t>(bar.metric)]);
  };
  BarResult result{.bar = bar,
                   .stratum = stratum.title(),
                   .value = value(bar.column),
                   .limit = bar.limit,
                   .limit_column = bar.limit_column};
  if (bar.limit_column == kBestOther) result.limit_column = best_other(experiment, bar, stratum);
  if (!bar.limit_column.empty()) {
    result.limit = bar.margin + value(result.limit_column).value_or(std::nan(""));
  }
  result.met = result.value && holds(bar.kind, *result.value, result.limit);
  return result;
}

// The mean of values and limits; without a value if one result has none.
BarResult mean_of(const std::vector<BarResult>& results) {
  BarResult mean = results.front();
  mean.stratum = mean.bar.stratum;
  mean.value = mean.limit = 0;
  const auto n = static_cast<double>(results.size());
  for (const BarResult& one : results) {
    mean.value =
        mean.value && one.value ? std::optional(*mean.value + *one.value / n) : std::nullopt;
    mean.limit += one.limit / n;
  }
  mean.met = mean.value && holds(mean.bar.kind, *mean.value, mean.limit);
  return mean;
}

// One result per stratum to which the bar applies.
std::vector<BarResult> check(const Experiment& experiment, const Bar& bar,
                             std::span<const ResultStratum> strata) {
  std::vector<BarResult> results;
  const bool mean = bar.stratum.starts_with(kMeanOver);
  const std::string_view several = mean                              ? kMeanOver
                                   : bar.stratum.starts_with(kEvery) ? kEvery
                                                                     : std::string_view();
  for (const ResultStratum& stratum : strata) {
    const bool wanted =
        several.empty() ? bar.stratum == stratum.title()
                        : bar.stratum.substr(several.size()) == measured::name(stratum.breakdown);
    if (wanted) results.push_back(check(experiment, bar, stratum));
  }
  if (mean && !results.empty()) return {mean_of(results)};
  return results;
}

[[noreturn]] void no_stratum(const Experiment& experiment, const Bar& bar,
                             std::span<const ResultStratum> strata) {
  constexpr std::size_t kMostShown = 20;
  std::vector<std::string> titles;
  for (const ResultStratum& stratum : strata) titles.push_back(stratum.title());
  if (titles.size() > kMostShown) {
    titles.resize(kMostShown);
    titles.emplace_back("...");
  }
  throw Error(fmt::format("{}: bars: no stratum is called '{}'; there are: {}", experiment.file,
                          bar.stratum, fmt::join(titles, ", ")));
}

using Verdict = DirectionResult::Verdict;

constexpr std::size_t kFewestSeeds = 3;
constexpr double kTwoSided95 = 0.975;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

const ResultStratum& stratum_of(const Experiment& experiment, const Direction& direction,
                                std::span<const ResultStratum> strata) {
  for (const ResultStratum& stratum : strata) {
    if (stratum.title() == direction.stratum) return stratum;
  }
  throw Error(
      fmt::format("{}: directions: no stratum is called '{}'", experiment.file, direction.stratum));
}

DirectionResult check(const Experiment& experiment, const Direction& direction,
                      const ResultStratum& stratum) {
  const auto cell = [&](const std::string& column) -> const Cell& {
    return stratum
        .cells[experiment.column_index(column)][static_cast<std::size_t>(direction.metric)];
  };
  const Cell& better = cell(direction.better);
  const Cell& than = cell(direction.than);
  DirectionResult result{.direction = direction};
  std::vector<double> of_better, of_than, differences;
  for (std::size_t i = 0; i < std::min(better.by_seed.size(), than.by_seed.size()); ++i) {
    if (!better.by_seed[i] || !than.by_seed[i]) continue;
    of_better.push_back(*better.by_seed[i]);
    of_than.push_back(*than.by_seed[i]);
    differences.push_back(of_better.back() - of_than.back());
  }
  result.seeds = differences.size();
  result.better = differences.empty() ? better.value : mean(of_better);
  result.than = differences.empty() ? than.value : mean(of_than);
  result.difference = t_interval(differences);
  if (!result.difference) return result;
  const bool below = result.difference->high<0, above = result.difference->low> 0;
  if (below || above) {
    const bool agrees = more_is_better(direction.metric) ? above : below;
    result.verdict = agrees ? Verdict::kAgrees : Verdict::kDisagrees;
  }
  return result;
}

struct DefaultTimes {
  double measured_s = 0, predicted_s = 0;
  std::size_t rows = 0;

  void add(double measured, double predicted) {
    measured_s += measured;
    predicted_s += predicted;
    ++rows;
  }
  [[nodiscard]] double coefficient() const { return rows == 0 ? 1 : measured_s / predicted_s; }
};

}  // namespace

std::vector<std::string> scale_by_class(const std::vector<measured::ScoredWorkload>& works,
                                        const std::vector<bool>& is_default, std::size_t column,
                                        std::vector<measured::ScoredRow>& rows) {
  TC_CHECK(is_default.size() == rows.size(), "one flag per row");
  std::map<std::string, DefaultTimes> classes;
  DefaultTimes all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::optional<double>& predicted_s = rows[i].predicted_s[column];
    if (!is_default[i] || !predicted_s) continue;
    classes[works[rows[i].work].op_class].add(rows[i].measured_s, *predicted_s);
    all.add(rows[i].measured_s, *predicted_s);
  }
  for (measured::ScoredRow& row : rows) {
    if (!row.predicted_s[column]) continue;
    const auto found = classes.find(works[row.work].op_class);
    *row.predicted_s[column] *= (found == classes.end() ? all : found->second).coefficient();
  }
  std::vector<std::string> scaled;
  for (const auto& [op_class, times] : classes) {
    scaled.push_back(
        fmt::format("{} x {:.2f} ({} rows)", op_class, times.coefficient(), times.rows));
  }
  scaled.push_back(fmt::format("others x {:.2f}", all.coefficient()));
  return scaled;
}

bool more_is_better(Metric metric) {
  return metric == Metric::kRowTau || metric == Metric::kCoverage || metric == Metric::kAnnounced ||
         metric == Metric::kTileTau ||
         (metric >= Metric::kBestInTop1 && metric != Metric::kRmseOfRange);
}

std::string ResultStratum::title() const {
  if (breakdown == Breakdown::kAll) return "all";
  return fmt::format("{} {}", measured::name(breakdown), name);
}

std::vector<ResultStratum> score_strata(const Experiment& experiment,
                                        std::span<const measured::ScoreSheet> sheets, int jobs) {
  const bool several = sheets.size() > 1;
  measured::EvaluationOptions options{.by = experiment.by,
                                      .jobs = jobs,
                                      .row_spearman = asks_for(experiment, Metric::kRowSpearman)};
  std::erase(options.by, Breakdown::kSet);  // added automatically
  if (several) options.bootstrap.draws = 1;
  std::vector<ResultStratum> result;
  std::vector<std::vector<std::vector<std::size_t>>> counts;
  for (std::size_t i = 0; i < sheets.size(); ++i) {
    const measured::ScoreSheet& sheet = sheets[i];
    for (const measured::Stratum& stratum : measured::evaluate(sheet, options).strata) {
      if (!is_shown(experiment, stratum)) continue;
      ResultStratum& into = find_or_add(result, stratum, sheet.columns.size());
      counts.resize(result.size(), std::vector<std::vector<std::size_t>>(
                                       sheet.columns.size(),
                                       std::vector<std::size_t>(measured::kNamedMetricCount)));
      add(stratum, i, sheets.size(), into, counts[static_cast<std::size_t>(&into - result.data())]);
    }
  }
  if (several && experiment.learns()) {
    for (ResultStratum& stratum : result) add_intervals(stratum);
  }
  return result;
}

std::vector<BarResult> check_bars(const Experiment& experiment,
                                  std::span<const ResultStratum> strata) {
  std::vector<BarResult> results;
  for (const Bar& bar : experiment.bars) {
    std::vector<BarResult> checked = check(experiment, bar, strata);
    if (checked.empty()) no_stratum(experiment, bar, strata);
    std::ranges::move(checked, std::back_inserter(results));
  }
  return results;
}

std::optional<measured::Interval> t_interval(std::span<const double> values) {
  if (values.size() < kFewestSeeds) return std::nullopt;
  const double middle = mean(values);
  const auto n = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  const double error_of_mean = std::sqrt(squares / (n - 1) / n);
  const double t = boost::math::quantile(boost::math::students_t(n - 1), kTwoSided95);
  return measured::Interval{middle - t * error_of_mean, middle + t * error_of_mean};
}

std::vector<DirectionResult> check_directions(const Experiment& experiment,
                                              std::span<const ResultStratum> strata) {
  std::vector<DirectionResult> results;
  for (const Direction& direction : experiment.directions) {
    results.push_back(check(experiment, direction, stratum_of(experiment, direction, strata)));
  }
  return results;
}

}  // namespace tilecast::validation

#include "measured/scores.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/statistics.h"

namespace tilecast::measured {
namespace {

// Fewer rows or kernels give no meaningful interval.
constexpr std::size_t kMinUnits = 3;
constexpr int kMinDraws = 200;
// Total number of rows drawn; a stratum of 50,000 rows then takes seconds.
constexpr double kRowDraws = 4e6;

using ErrorMetric = std::optional<double> (*)(std::span<const Pair>);

struct NamedErrorMetric {
  Metric metric;
  ErrorMetric compute;
};
constexpr NamedErrorMetric kErrorMetrics[] = {
    {Metric::kMape, mape},           {Metric::kMedianApe, median_ape}, {Metric::kP90Ape, p90_ape},
    {Metric::kBias, geometric_bias}, {Metric::kTotal, total_ratio},    {Metric::kLogL1, log_l1},
    {Metric::kRowTau, kendall_tau_b}};

std::optional<double> ranking_metric(Metric metric, std::span<const Ranking> kernels) {
  switch (metric) {
    case Metric::kTileTau:
      return mean_tau_b(kernels);
    case Metric::kTileSizeApe:
      return tile_size_ape(kernels);
    case Metric::kTop1Slowdown:
      return top_k_slowdown(kernels, 1);
    case Metric::kTop1SlowdownP90:
      return top_1_slowdown_quantile(kernels, 0.9);
    case Metric::kTop5Slowdown:
      return top_k_slowdown(kernels, 5);
    case Metric::kTop10Slowdown:
      return top_k_slowdown(kernels, 10);
    case Metric::kBestInTop1:
      return best_in_top_k(kernels, 1);
    case Metric::kBestInTop5:
      return best_in_top_k(kernels, 5);
    case Metric::kBestInTop10:
      return best_in_top_k(kernels, 10);
    case Metric::kBestInTopTenth:
      return best_in_top_share(kernels, 0.1);
    case Metric::kTop1Within2:
      return top_1_within(kernels, 0.02);
    default:
      return std::nullopt;
  }
}

Score& at(Scores& scores, Metric metric) {
  return scores.values[static_cast<std::size_t>(metric)];
}

BootstrapOptions affordable(BootstrapOptions options, std::size_t rows) {
  const double draws = kRowDraws / static_cast<double>(std::max<std::size_t>(rows, 1));
  options.draws =
      std::min(options.draws, std::max(kMinDraws, static_cast<int>(std::min(draws, 1e6))));
  return options;
}

template <class Items>
Items gather(const Items& items, std::span<const std::size_t> indices) {
  Items chosen;
  chosen.reserve(indices.size());
  for (const std::size_t i : indices) chosen.push_back(items[i]);
  return chosen;
}

void score_errors(Scores& scores, const StratumRows& stratum, const std::vector<Pair>& pairs,
                  const BootstrapOptions& options) {
  const bool by_work = stratum.works > 1;
  const bool enough = (by_work ? stratum.works : pairs.size()) >= kMinUnits;
  const std::span<const std::size_t> group_of =
      by_work ? std::span<const std::size_t>(stratum.work_of) : std::span<const std::size_t>();
  for (const auto& [metric, compute] : kErrorMetrics) {
    Score& score = at(scores, metric);
    score.value = compute(pairs);
    if (!score.value || !enough) continue;
    score.interval = bootstrap_interval(
        pairs.size(),
        [&, compute = compute](std::span<const std::size_t> drawn) {
          return compute(gather(pairs, drawn));
        },
        group_of, options);
  }
}

// The rows for which a column has an interval.
struct Covered {
  std::vector<Interval> intervals;
  std::vector<Pair> pairs;
  std::vector<std::size_t> work_of;
};

Covered covered(const ScoreSheet& sheet, const StratumRows& stratum, std::size_t column) {
  Covered result;
  for (std::size_t i = 0; i < stratum.rows.size(); ++i) {
    const ScoredRow& row = sheet.rows[stratum.rows[i]];
    if (row.interval_s.empty() || !row.interval_s[column]) continue;
    result.intervals.push_back(*row.interval_s[column]);
    result.pairs.push_back({*row.predicted_s[column], row.measured_s});
    result.work_of.push_back(stratum.work_of[i]);
  }
  return result;
}

using IntervalMetric = std::optional<double> (*)(std::span<const Pair>, std::span<const Interval>);

std::optional<IntervalScore> scored(std::span<const Pair> pairs,
                                    std::span<const Interval> intervals) {
  std::vector<double> measured;
  for (const Pair& pair : pairs) measured.push_back(pair.measured);
  return interval_score(intervals, measured);
}

template <double IntervalScore::*Part>
std::optional<double> part_of_score(std::span<const Pair> pairs,
                                    std::span<const Interval> intervals) {
  const std::optional<IntervalScore> score = scored(pairs, intervals);
  return score ? std::optional((*score).*Part) : std::nullopt;
}

template <int Percent>
std::optional<double> mape_of_surest(std::span<const Pair> pairs,
                                     std::span<const Interval> intervals) {
  return selective_mape(pairs, intervals, Percent / 100.0);
}

constexpr std::pair<Metric, IntervalMetric> kIntervalMetrics[] = {
    {Metric::kCoverage, part_of_score<&IntervalScore::coverage>},
    {Metric::kIntervalWidth, part_of_score<&IntervalScore::mean_width>},
    {Metric::kMapeSurest25, mape_of_surest<25>},
    {Metric::kMapeSurest50, mape_of_surest<50>},
    {Metric::kMapeSurest75, mape_of_surest<75>},
    {Metric::kAnnounced, announced_share}};

void score_intervals(Scores& scores, const Covered& rows, const BootstrapOptions& options) {
  const std::size_t works = std::set(rows.work_of.begin(), rows.work_of.end()).size();
  const bool enough = (works > 1 ? works : rows.pairs.size()) >= kMinUnits;
  const auto group_of = works > 1 ? std::span(rows.work_of) : std::span<const std::size_t>();
  for (const auto& [metric, compute] : kIntervalMetrics) {
    Score& score = at(scores, metric);
    score.value = compute(rows.pairs, rows.intervals);
    if (!score.value || !enough) continue;
    const auto statistic = [&, compute = compute](std::span<const std::size_t> drawn) {
      return compute(gather(rows.pairs, drawn), gather(rows.intervals, drawn));
    };
    score.interval = bootstrap_interval(rows.pairs.size(), statistic, group_of, options);
  }
}

bool all_tied(const Ranking& ranking) {
  return std::all_of(ranking.begin(), ranking.end(),
                     [&](const Pair& pair) { return pair.predicted == ranking.front().predicted; });
}

// Bootstraps over whole kernels. Every metric is a mean over kernels, a ratio of sums or a
// quantile, so the contribution of each kernel is computed only once.
std::optional<Interval> interval_over_kernels(Metric metric, std::span<const Ranking> kernels,
                                              const BootstrapOptions& options) {
  std::vector<std::optional<double>> value(kernels.size());
  std::vector<double> weight(kernels.size(), 1);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    value[i] = ranking_metric(metric, kernels.subspan(i, 1));
    if (metric != Metric::kTileSizeApe) continue;
    weight[i] = INFINITY;
    for (const Pair& pair : kernels[i]) weight[i] = std::min(weight[i], pair.measured);
  }
  const auto mean = [&](std::span<const std::size_t> drawn) -> std::optional<double> {
    double sum = 0, whole = 0;
    for (const std::size_t i : drawn) {
      if (!value[i]) continue;
      sum += weight[i] * *value[i];
      whole += weight[i];
    }
    if (whole == 0) return std::nullopt;
    return sum / whole;
  };
  const auto p90 = [&](std::span<const std::size_t> drawn) -> std::optional<double> {
    std::vector<double> values;
    for (const std::size_t i : drawn) {
      if (value[i]) values.push_back(*value[i]);
    }
    if (values.empty()) return std::nullopt;
    return base::quantile(values, 0.9);
  };
  if (metric == Metric::kTop1SlowdownP90) {
    return bootstrap_interval(kernels.size(), p90, {}, options);
  }
  return bootstrap_interval(kernels.size(), mean, {}, options);
}

std::optional<Interval> interval_over_tiles(Metric metric, const Ranking& kernel,
                                            const BootstrapOptions& options) {
  return bootstrap_interval(
      kernel.size(),
      [&](std::span<const std::size_t> drawn) {
        const Ranking chosen = gather(kernel, drawn);
        return ranking_metric(metric, std::span<const Ranking>(&chosen, 1));
      },
      {}, options);
}

void score_rankings(Scores& scores, const std::vector<Ranking>& kernels,
                    const BootstrapOptions& options) {
  scores.kernels_ranked = static_cast<std::size_t>(
      std::count_if(kernels.begin(), kernels.end(), [](const auto& k) { return !all_tied(k); }));
  if (scores.kernels_ranked == 0) return;
  for (std::size_t i = 0; i < kMetricCount; ++i) {
    const auto metric = static_cast<Metric>(i);
    if (!ranks_tiles(metric)) continue;
    Score& score = at(scores, metric);
    score.value = ranking_metric(metric, kernels);
    if (!score.value) continue;
    if (kernels.size() >= kMinUnits) {
      score.interval = interval_over_kernels(metric, kernels, options);
    } else if (kernels.size() == 1 && kernels.front().size() >= kMinUnits) {
      score.interval = interval_over_tiles(metric, kernels.front(), options);
    }
  }
}

}  // namespace

Scores score(const ScoreSheet& sheet, const StratumRows& stratum, std::size_t column,
             const BootstrapOptions& options) {
  std::vector<Pair> pairs;
  pairs.reserve(stratum.rows.size());
  for (const std::size_t row : stratum.rows) {
    const ScoredRow& scored = sheet.rows[row];
    pairs.push_back(
        {*scored.predicted_s[column], scored.measured_s, static_cast<double>(scored.repeats)});
  }
  std::vector<Ranking> kernels;
  for (const auto& ranking : stratum.rankings) kernels.push_back(gather(pairs, ranking));
  const BootstrapOptions limited = affordable(options, pairs.size());
  Scores scores;
  score_errors(scores, stratum, pairs, limited);
  score_intervals(scores, covered(sheet, stratum, column), limited);
  score_rankings(scores, kernels, limited);
  return scores;
}

}  // namespace tilecast::measured

#include "measured/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "base/statistics.h"

namespace tilecast::measured {
namespace {

// --- one cell of an evaluation's table: all metrics of one model on given rows, with intervals

// The scored rows of one stratum, the same for every column.
struct StratumRows {
  std::vector<std::size_t> rows;                   // into ScoreSheet::rows
  std::vector<std::size_t> work_of;                // per row: number of its work, 0 to works - 1
  std::size_t works = 0;                           // number of works
  std::vector<std::vector<std::size_t>> rankings;  // kernels with >= 2 tiles: into `rows`
  std::size_t rankings_without_fastest = 0;        // Stratum::kernels_without_fastest
};

// Fewer rows or kernels give no meaningful interval.
constexpr std::size_t kMinUnits = 3;
constexpr int kMinDraws = 200;
// Total number of rows drawn; a stratum of 50,000 rows then takes seconds.
constexpr double kRowDraws = 4e6;

template <double IntervalScore::*Part>
std::optional<double> part_of_score(std::span<const Pair> pairs,
                                    std::span<const Interval> intervals) {
  std::vector<double> measured;
  for (const Pair& pair : pairs) measured.push_back(pair.measured);
  const std::optional<IntervalScore> score = interval_score(intervals, measured);
  return score ? std::optional((*score).*Part) : std::nullopt;
}

template <int Percent>
std::optional<double> mape_of_surest(std::span<const Pair> pairs,
                                     std::span<const Interval> intervals) {
  return selective_mape(pairs, intervals, Percent / 100.0);
}

template <int K>
std::optional<double> slowdown(std::span<const Ranking> kernels) {
  return top_k_slowdown(kernels, K);
}

template <int K>
std::optional<double> best_in(std::span<const Ranking> kernels) {
  return best_in_top_k(kernels, K);
}

// A metric's name, and the function of what it is computed from: one of the three.
struct MetricEntry {
  std::string_view name;
  std::optional<double> (*of_pairs)(std::span<const Pair>) = nullptr;
  std::optional<double> (*of_intervals)(std::span<const Pair>, std::span<const Interval>) = nullptr;
  std::optional<double> (*of_kernels)(std::span<const Ranking>) = nullptr;
};
constexpr MetricEntry kMetrics[kNamedMetricCount] = {  // by Metric
    {.name = "mape", .of_pairs = mape},
    {.name = "median_ape", .of_pairs = median_ape},
    {.name = "p90_ape", .of_pairs = p90_ape},
    {.name = "geometric_bias", .of_pairs = geometric_bias},
    {.name = "total_ratio", .of_pairs = total_ratio},
    {.name = "log_l1", .of_pairs = log_l1},
    {.name = "row_tau_b", .of_pairs = kendall_tau_b},
    {.name = "coverage_90", .of_intervals = part_of_score<&IntervalScore::coverage>},
    {.name = "interval_width", .of_intervals = part_of_score<&IntervalScore::mean_width>},
    {.name = "mape_surest_25", .of_intervals = mape_of_surest<25>},
    {.name = "mape_surest_50", .of_intervals = mape_of_surest<50>},
    {.name = "mape_surest_75", .of_intervals = mape_of_surest<75>},
    {.name = "announced_2x", .of_intervals = announced_share},
    {.name = "tile_tau_b", .of_kernels = mean_tau_b},
    {.name = "tile_size_ape", .of_kernels = tile_size_ape},
    {.name = "top_1_slowdown", .of_kernels = slowdown<1>},
    {.name = "top_1_slowdown_p90",
     .of_kernels = [](std::span<const Ranking> k) { return top_1_slowdown_quantile(k, 0.9); }},
    {.name = "top_5_slowdown", .of_kernels = slowdown<5>},
    {.name = "top_10_slowdown", .of_kernels = slowdown<10>},
    {.name = "best_in_top_1", .of_kernels = best_in<1>},
    {.name = "best_in_top_5", .of_kernels = best_in<5>},
    {.name = "best_in_top_10", .of_kernels = best_in<10>},
    {.name = "best_in_top_tenth",
     .of_kernels = [](std::span<const Ranking> k) { return best_in_top_share(k, 0.1); }},
    {.name = "top_1_within_2",
     .of_kernels = [](std::span<const Ranking> k) { return top_1_within(k, 0.02); }},
    {.name = "row_spearman", .of_pairs = spearman_rho},
    {.name = "rmse_of_range"},
    {.name = "exact"}};

std::optional<double> ranking_metric(Metric metric, std::span<const Ranking> kernels) {
  return kMetrics[static_cast<std::size_t>(metric)].of_kernels(kernels);
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

// What metrics of rows are computed from.
struct MetricRows {
  std::vector<Pair> pairs;
  std::vector<Interval> intervals;  // of all rows or, for metrics of pairs, none
  std::vector<std::size_t> work_of;
};

// The rows for which a column has an interval.
MetricRows covered(const ScoreSheet& sheet, const StratumRows& stratum, std::size_t column) {
  MetricRows result;
  for (std::size_t i = 0; i < stratum.rows.size(); ++i) {
    const ScoredRow& row = sheet.rows[stratum.rows[i]];
    if (row.interval_s.empty() || !row.interval_s[column]) continue;
    result.intervals.push_back(*row.interval_s[column]);
    result.pairs.push_back({*row.predicted_s[column], row.measured_s});
    result.work_of.push_back(stratum.work_of[i]);
  }
  return result;
}

// Scores the first `count` metrics that are of pairs, or of pairs and their intervals.
void score_rows(Scores& scores, const MetricRows& rows, bool with_intervals, std::size_t count,
                const BootstrapOptions& options) {
  const std::size_t works = std::set(rows.work_of.begin(), rows.work_of.end()).size();
  const bool enough = (works > 1 ? works : rows.pairs.size()) >= kMinUnits;
  const auto group_of = works > 1 ? std::span(rows.work_of) : std::span<const std::size_t>();
  for (std::size_t i = 0; i < count; ++i) {
    const MetricEntry& metric = kMetrics[i];
    if (with_intervals ? metric.of_intervals == nullptr : metric.of_pairs == nullptr) continue;
    Score& score = scores.values[i];
    score.value = with_intervals ? metric.of_intervals(rows.pairs, rows.intervals)
                                 : metric.of_pairs(rows.pairs);
    if (!score.value || !enough) continue;
    const auto statistic = [&](std::span<const std::size_t> drawn) {
      const std::vector<Pair> pairs = gather(rows.pairs, drawn);
      return with_intervals ? metric.of_intervals(pairs, gather(rows.intervals, drawn))
                            : metric.of_pairs(pairs);
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
    Score& score = scores.values[i];
    score.value = ranking_metric(metric, kernels);
    if (!score.value) continue;
    if (kernels.size() >= kMinUnits) {
      score.interval = interval_over_kernels(metric, kernels, options);
    } else if (kernels.size() == 1 && kernels.front().size() >= kMinUnits) {
      score.interval = interval_over_tiles(metric, kernels.front(), options);
    }
  }
}

// Bootstraps over works if there are several, else over rows, with the same draws for every column.
Scores score(const ScoreSheet& sheet, const StratumRows& stratum, std::size_t column,
             const EvaluationOptions& options) {
  std::vector<Pair> pairs;
  pairs.reserve(stratum.rows.size());
  for (const std::size_t row : stratum.rows) {
    const ScoredRow& scored = sheet.rows[row];
    pairs.push_back(
        {*scored.predicted_s[column], scored.measured_s, static_cast<double>(scored.repeats)});
  }
  std::vector<Ranking> kernels;
  for (const auto& ranking : stratum.rankings) kernels.push_back(gather(pairs, ranking));
  const BootstrapOptions limited = affordable(options.bootstrap, pairs.size());
  Scores scores;
  const std::size_t count = options.row_spearman ? kNamedMetricCount : kMetricCount;
  score_rows(scores, {std::move(pairs), {}, stratum.work_of}, false, count, limited);
  score_rows(scores, covered(sheet, stratum, column), true, count, limited);
  score_rankings(scores, kernels, limited);
  return scores;
}

constexpr std::string_view kBreakdownNames[] = {"all",   "set",    "class", "size",
                                                "split", "family", "kernel"};

// Tile and parameters of a row: "out=8x4 p_unroll=4".
std::string tile_text(const SampleSet& samples, const Sample& sample) {
  std::string text =
      sample.tile == analytical::TileConfig{} ? "" : analytical::to_string(sample.tile);
  for (std::size_t i = 0; i < sample.parameters.size(); ++i) {
    if (std::isnan(sample.parameters[i])) continue;
    text += fmt::format("{}p_{}={}", text.empty() ? "" : " ", samples.parameter_names[i],
                        sample.parameters[i]);
  }
  return text;
}

// Joins the columns: rows of a set by line, works by name and fingerprint.
class Joiner {
 public:
  explicit Joiner(ScoreSheet& sheet) : sheet_(sheet), set_(sheet.sets.size() - 1) {}

  ScoredRow& row(const SampleSet& samples, const Sample& sample) {
    const auto [found, fresh] = rows_.try_emplace(sample.line, sheet_.rows.size());
    if (fresh) {
      sheet_.rows.push_back(
          {.set = set_,
           .work = work(samples.works[sample.work]),
           .line = sample.line,
           .split = sample.split,
           .tile = tile_text(samples, sample),
           .measured_s = sample.measured.value,
           .repeats = sample.repeats,
           .predicted_s = std::vector<std::optional<double>>(sheet_.columns.size())});
    }
    return sheet_.rows[found->second];
  }

 private:
  std::size_t work(const Workload& work) {
    const auto key = std::make_pair(work.name, work.fingerprint);
    const auto [found, fresh] = works_.try_emplace(key, sheet_.works.size());
    if (fresh) sheet_.works.push_back({work.name, work.op_class, work.family, set_});
    return found->second;
  }

  ScoreSheet& sheet_;
  std::size_t set_;
  std::unordered_map<int, std::size_t> rows_;
  std::map<std::pair<std::string, std::string>, std::size_t> works_;
};

std::optional<double> usable_time(const Prediction& prediction) {
  const double time_s = prediction.comparable().value;
  if (!prediction.answered || !std::isfinite(time_s) || time_s <= 0) return std::nullopt;
  return time_s;
}

// The interval of a prediction, if its bounds are usable.
std::optional<Interval> usable_interval(const Prediction& prediction) {
  const std::optional<Interval>& interval = prediction.interval;
  if (!interval || !usable_time(prediction)) return std::nullopt;
  const bool usable =
      interval->low > 0 && interval->low <= interval->high && std::isfinite(interval->high);
  return usable ? interval : std::nullopt;
}

// Faults for the devices of all columns; a row may have faults for several.
std::vector<RowFault> joined_faults(std::span<const Answers> per_column) {
  std::vector<RowFault> faults;
  std::set<std::pair<int, RowFault::Kind>> seen;
  for (const Answers& column : per_column) {
    for (const RowFault& fault : column.samples.faults) {
      if (seen.emplace(fault.line, fault.kind).second) faults.push_back(fault);
    }
  }
  std::stable_sort(faults.begin(), faults.end(),
                   [](const RowFault& a, const RowFault& b) { return a.line < b.line; });
  return faults;
}

// The fastest measured time of every work.
std::vector<double> fastest_of_works(const ScoreSheet& sheet) {
  std::vector<double> fastest(sheet.works.size(), INFINITY);
  for (const ScoredRow& row : sheet.rows) {
    fastest[row.work] = std::min(fastest[row.work], row.measured_s);
  }
  return fastest;
}

std::string size_name(bool is_small, Seconds limit) {
  constexpr double kMicrosecondsPerSecond = 1e6;
  std::string limit_us = std::to_string(limit.value * kMicrosecondsPerSecond);
  limit_us.erase(limit_us.find_last_not_of('0') + 1);
  if (limit_us.ends_with('.')) limit_us.pop_back();
  return (is_small ? "below " : "at least ") + limit_us + " us";
}

class Strata {
 public:
  Strata(const ScoreSheet& sheet, const EvaluationOptions& options)
      : sheet_(sheet), options_(options), fastest_(fastest_of_works(sheet)) {}

  // The rows of every stratum of one breakdown, by the stratum's name.
  std::map<std::string, std::vector<std::size_t>> split(Breakdown breakdown) const {
    std::map<std::string, std::vector<std::size_t>> strata;
    for (std::size_t i = 0; i < sheet_.rows.size(); ++i) {
      strata[name_of(breakdown, sheet_.rows[i])].push_back(i);
    }
    return strata;
  }

  // The rows that every column answered, with their works and rankings.
  StratumRows scored(const std::vector<std::size_t>& rows) const {
    StratumRows result;
    std::unordered_map<std::size_t, std::size_t> place;
    std::vector<std::vector<std::size_t>> tiled;
    std::unordered_map<std::size_t, double> fastest;  // fastest measured tile per work
    for (const std::size_t i : rows) {
      const ScoredRow& row = sheet_.rows[i];
      if (!row.tile.empty()) {
        double& time_s = fastest.try_emplace(row.work, row.measured_s).first->second;
        time_s = std::min(time_s, row.measured_s);
      }
      if (!answered_by_all(row)) continue;
      const auto [found, fresh] = place.try_emplace(row.work, place.size());
      if (fresh) tiled.emplace_back();
      if (!row.tile.empty()) tiled[found->second].push_back(result.rows.size());
      result.work_of.push_back(found->second);
      result.rows.push_back(i);
    }
    result.works = place.size();
    for (auto& ranking : tiled) add_ranking(result, fastest, std::move(ranking));
    return result;
  }

 private:
  std::string name_of(Breakdown breakdown, const ScoredRow& row) const {
    const ScoredWorkload& work = sheet_.works[row.work];
    switch (breakdown) {
      case Breakdown::kAll:
        return "all";
      case Breakdown::kSet:
        return sheet_.sets[row.set].name;
      case Breakdown::kOpClass:
        return work.op_class;
      case Breakdown::kSize:
        return size_name(fastest_[row.work] < options_.small.value, options_.small);
      case Breakdown::kSplit:
        return row.split.empty() ? "no split" : row.split;
      case Breakdown::kFamily:
        return work.family.empty() ? "no family" : work.family;
      case Breakdown::kKernel:
        return sheet_.sets.size() > 1 ? sheet_.sets[row.set].name + ": " + work.name : work.name;
    }
    return "";
  }

  static bool answered_by_all(const ScoredRow& row) {
    return std::ranges::all_of(row.predicted_s, [](const auto& p) { return p.has_value(); });
  }

  void add_ranking(StratumRows& stratum, const std::unordered_map<std::size_t, double>& fastest,
                   std::vector<std::size_t> ranking) const {
    if (distinct_tiles(stratum, ranking) < 2) return;
    double answered_s = INFINITY;
    for (const std::size_t i : ranking) {
      answered_s = std::min(answered_s, sheet_.rows[stratum.rows[i]].measured_s);
    }
    const std::size_t work = sheet_.rows[stratum.rows[ranking.front()]].work;
    if (fastest.at(work) < answered_s) ++stratum.rankings_without_fastest;
    stratum.rankings.push_back(std::move(ranking));
  }

  std::size_t distinct_tiles(const StratumRows& stratum,
                             const std::vector<std::size_t>& ranking) const {
    std::set<std::string_view> tiles;
    for (const std::size_t i : ranking) tiles.insert(sheet_.rows[stratum.rows[i]].tile);
    return tiles.size();
  }

  const ScoreSheet& sheet_;
  const EvaluationOptions& options_;
  std::vector<double> fastest_;
};

std::vector<Breakdown> breakdowns(const ScoreSheet& sheet, const EvaluationOptions& options) {
  std::vector<Breakdown> wanted{Breakdown::kAll};
  if (sheet.sets.size() > 1) wanted.push_back(Breakdown::kSet);
  for (const Breakdown breakdown : options.by) {
    if (std::find(wanted.begin(), wanted.end(), breakdown) == wanted.end()) {
      wanted.push_back(breakdown);
    }
  }
  return wanted;
}

std::size_t answered(const ScoreSheet& sheet, const std::vector<std::size_t>& rows,
                     std::size_t column) {
  return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [&](std::size_t row) {
    return sheet.rows[row].predicted_s[column].has_value();
  }));
}

}  // namespace

std::string_view name(Metric metric) {
  return kMetrics[static_cast<std::size_t>(metric)].name;
}

std::string_view name(Breakdown breakdown) {
  return kBreakdownNames[static_cast<std::size_t>(breakdown)];
}

void add_answers(ScoreSheet& sheet, std::span<const Answers> per_column) {
  TC_CHECK(!per_column.empty() && per_column.size() == sheet.columns.size(),
           "one answer per column");
  const SampleSet& first = per_column.front().samples;
  sheet.sets.push_back({.name = first.name,
                        .hash = first.hash,
                        .device = first.measured_on,
                        .manifest = first.manifest,
                        .faults = joined_faults(per_column)});
  const std::size_t before = sheet.rows.size();
  Joiner joiner(sheet);
  for (std::size_t column = 0; column < per_column.size(); ++column) {
    const auto& [samples, predictions] = per_column[column];
    TC_CHECK(predictions.size() == samples.samples.size(), "one prediction per sample");
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      ScoredRow& row = joiner.row(samples, samples.samples[i]);
      row.predicted_s[column] = usable_time(predictions[i]);
      const std::optional<Interval> interval = usable_interval(predictions[i]);
      if (!interval) continue;
      row.interval_s.resize(sheet.columns.size());
      row.interval_s[column] = interval;
    }
  }
  ScoredSet& set = sheet.sets.back();
  set.rows = sheet.rows.size() - before;
  set.with_dispatch = static_cast<std::size_t>(
      std::ranges::count_if(first.samples, [](const Sample& s) { return s.holds_dispatch; }));
}

Evaluation evaluate(const ScoreSheet& sheet, const EvaluationOptions& options) {
  Evaluation result{.columns = sheet.columns, .strata = {}};
  const Strata strata(sheet, options);
  std::vector<StratumRows> scored;
  for (const Breakdown breakdown : breakdowns(sheet, options)) {
    for (const auto& [name, rows] : strata.split(breakdown)) {
      scored.push_back(strata.scored(rows));
      Stratum stratum{.breakdown = breakdown,
                      .name = name,
                      .rows_measured = rows.size(),
                      .rows = scored.back().rows.size(),
                      .works = scored.back().works,
                      .kernels_with_tiles = scored.back().rankings.size(),
                      .kernels_without_fastest = scored.back().rankings_without_fastest,
                      .columns = std::vector<Scores>(sheet.columns.size())};
      for (std::size_t column = 0; column < sheet.columns.size(); ++column) {
        stratum.columns[column].answered = answered(sheet, rows, column);
      }
      result.strata.push_back(std::move(stratum));
    }
  }
  const std::size_t columns = sheet.columns.size();
  base::parallel_for(result.strata.size() * columns, options.jobs, [&](std::size_t cell) {
    Scores& slot = result.strata[cell / columns].columns[cell % columns];
    const std::size_t kept = slot.answered;
    slot = score(sheet, scored[cell / columns], cell % columns, options);
    slot.answered = kept;
    const bool ranks_only = !sheet.ranks_only.empty() && sheet.ranks_only[cell % columns];
    for (std::size_t i = 0; i < kNamedMetricCount && ranks_only; ++i) {
      if (!ranks_tiles(static_cast<Metric>(i))) slot.values[i] = {};
    }
  });
  return result;
}

}  // namespace tilecast::measured

// Error and ranking metrics of predictions. A metric is nullopt if it is undefined (no rows, or no
// ranking of at least two).
//
// Errors are relative to the measurement: APE = |predicted / measured - 1|, as fractions (0.08 is 8
// %). Times must be positive and finite (TC_CHECK).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tilecast::measured {

struct Pair {
  double predicted = 0, measured = 0;  // seconds
  double runs = 1;                     // number of runs
};

[[nodiscard]] std::optional<double> mape(std::span<const Pair> pairs);
[[nodiscard]] std::optional<double> median_ape(std::span<const Pair> pairs);
[[nodiscard]] std::optional<double> p90_ape(std::span<const Pair> pairs);
// exp(mean log(predicted / measured)): above 1 is pessimistic.
[[nodiscard]] std::optional<double> geometric_bias(std::span<const Pair> pairs);
// Mean |log(predicted / measured)|: the L1 error of log time.
[[nodiscard]] std::optional<double> log_l1(std::span<const Pair> pairs);
// Sum of predicted / sum of measured, weighted by runs: the ratio for a program made of all pairs.
[[nodiscard]] std::optional<double> total_ratio(std::span<const Pair> pairs);
// Kendall's tau-b with ties (Kendall 1945), in O(n log n) (Knight 1966). nullopt if all values on
// one side are equal.
[[nodiscard]] std::optional<double> kendall_tau_b(std::span<const Pair> pairs);
// Spearman's rho (Spearman 1904): the correlation of ranks; tied values share the mean of their
// ranks. nullopt as for tau-b. In O(n log n).
[[nodiscard]] std::optional<double> spearman_rho(std::span<const Pair> pairs);

// Rankings of alternatives (tiles of a kernel), one per kernel. Kernels with fewer than two are
// skipped. Metrics are expectations over a random choice among tied predictions, so the order of
// rows does not matter.
using Ranking = std::vector<Pair>;
// Mean over kernels of tau-b, where defined.
[[nodiscard]] std::optional<double> mean_tau_b(std::span<const Ranking> kernels);
// Kaufman et al., MLSys 2021, Eq. 2: sum over kernels |measured(chosen) - best| / sum of best.
[[nodiscard]] std::optional<double> tile_size_ape(std::span<const Ranking> kernels);
// Mean over kernels of (best measured among the k predicted fastest) / (best measured) - 1.
[[nodiscard]] std::optional<double> top_k_slowdown(std::span<const Ranking> kernels, int k);
// The q-quantile over kernels of the slowdown for k = 1. `q` in [0, 1].
[[nodiscard]] std::optional<double> top_1_slowdown_quantile(std::span<const Ranking> kernels,
                                                            double q);
// Mean over kernels of best measured / best measured among the k predicted fastest (ALCOP's
// "best in top k": 1 is the exhaustive optimum).
[[nodiscard]] std::optional<double> best_in_top_k(std::span<const Ranking> kernels, int k);
// The same with k = `share` of the kernel's rows, rounded up: the result of measuring only that
// share of the candidates. `share` in (0, 1].
[[nodiscard]] std::optional<double> best_in_top_share(std::span<const Ranking> kernels,
                                                      double share);
// Share of the kernels whose predicted fastest alternative takes at most (1 + tolerance) x the best
// measured time.
[[nodiscard]] std::optional<double> top_1_within(std::span<const Ranking> kernels,
                                                 double tolerance);

struct Interval {
  double low = 0, high = 0;
};
struct IntervalScore {
  double coverage = 0;    // share of measurements inside
  double mean_width = 0;  // mean of high / low - 1
};
[[nodiscard]] std::optional<IntervalScore> interval_score(std::span<const Interval> intervals,
                                                          std::span<const double> measured);

// Selective accuracy (El-Yaniv and Wiener, JMLR 2010): MAPE of the `share` of the rows with the
// narrowest intervals (high / low), rounded up to whole rows; the expectation of a random choice
// among equal widths. `share` in (0, 1].
[[nodiscard]] std::optional<double> selective_mape(std::span<const Pair> pairs,
                                                   std::span<const Interval> intervals,
                                                   double share);

// Among the rows that are off by more than a factor of two, the share whose interval extends at
// least that far on that side. nullopt if there are no such rows.
[[nodiscard]] std::optional<double> announced_share(std::span<const Pair> pairs,
                                                    std::span<const Interval> intervals);

// 95 % percentile bootstrap (Efron 1979): `statistic` of `draws` resamples of indices 0 ... n - 1,
// or of whole groups if `group_of` gives the group of each index (rows of a kernel stay together).
// Deterministic for a seed. nullopt if n is 0 or fewer than half of the resamples have a value.
using Statistic = std::function<std::optional<double>(std::span<const std::size_t>)>;
struct BootstrapOptions {
  int draws = 1000;
  std::uint64_t seed = 1;
};
[[nodiscard]] std::optional<Interval> bootstrap_interval(std::size_t n, const Statistic& statistic,
                                                         std::span<const std::size_t> group_of = {},
                                                         const BootstrapOptions& options = {});

// Errors of predictions of a quantity other than time, in its own unit. Unlike times, which are
// compared by ratios (measured/metrics.h), registers and shares are compared by differences.
// Thread-safe.

struct QuantityPair {
  double predicted = 0, measured = 0;  // finite
};

struct QuantityScores {
  std::size_t rows = 0;
  double rmse = 0, mean_absolute = 0;   // in the quantity's unit
  std::optional<double> rmse_of_range;  // RMSE / range; absent if the range is 0
  std::optional<double> exact;          // counts only: share that is exact after rounding
};
// `range`: measured_range() of all scored rows, of which `pairs` may be a subset. nullopt without
// pairs.
[[nodiscard]] std::optional<QuantityScores> quantity_scores(std::span<const QuantityPair> pairs,
                                                            double range, bool count);
[[nodiscard]] double measured_range(std::span<const QuantityPair> pairs);  // 0 without pairs

}  // namespace tilecast::measured

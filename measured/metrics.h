// How far predictions are from measurements. Every metric says what it is over,
// and is nullopt where it is undefined (no rows; a ranking of fewer than two).
//
// Errors are relative to the measurement: APE = |predicted / measured - 1|, as fractions (0.08 is
// 8 %). Times are positive and finite; anything else is a bug of the caller (TC_CHECK).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tilecast::measured {

struct Pair {
  double predicted = 0, measured = 0;  // seconds
  double runs = 1;                     // how often
};

[[nodiscard]] std::optional<double> mape(std::span<const Pair> pairs);
[[nodiscard]] std::optional<double> median_ape(std::span<const Pair> pairs);
[[nodiscard]] std::optional<double> p90_ape(std::span<const Pair> pairs);
// exp(mean log(predicted / measured)): above 1 is pessimistic.
[[nodiscard]] std::optional<double> geometric_bias(std::span<const Pair> pairs);
// Mean |log(predicted / measured)|: the L1 error of log time.
[[nodiscard]] std::optional<double> log_l1(std::span<const Pair> pairs);
// Sum of predicted / sum of measured over all runs of all pairs: the time of a program of them.
[[nodiscard]] std::optional<double> total_ratio(std::span<const Pair> pairs);
// Kendall's tau-b, ties counted (Kendall 1945), in O(n log n) (Knight 1966). nullopt when one side
// is all ties.
[[nodiscard]] std::optional<double> kendall_tau_b(std::span<const Pair> pairs);

// Rankings of alternatives (tiles of one kernel); one inner vector per kernel. Kernels with fewer
// than two are passed over. Where predictions tie, a choice among them is random and the metric is
// its expectation, so that no order of rows is favoured.
using Ranking = std::vector<Pair>;
// Mean of tau-b within each kernel that has one.
[[nodiscard]] std::optional<double> mean_tau_b(std::span<const Ranking> kernels);
// Kaufman et al., MLSys 2021, Eq. 2: sum over kernels |measured(chosen) - best| / sum of best.
[[nodiscard]] std::optional<double> tile_size_ape(std::span<const Ranking> kernels);
// Mean over kernels of best measured among the k predicted fastest / best measured, - 1.
[[nodiscard]] std::optional<double> top_k_slowdown(std::span<const Ranking> kernels, int k);
// That of k = 1, below which it stays for this share of the kernels. `q` in [0, 1].
[[nodiscard]] std::optional<double> top_1_slowdown_quantile(std::span<const Ranking> kernels,
                                                            double q);
// Mean over kernels of best measured / best measured among the k predicted fastest (ALCOP's
// "best in top k": 1 is the exhaustive optimum).
[[nodiscard]] std::optional<double> best_in_top_k(std::span<const Ranking> kernels, int k);
// The same where each kernel has this share of its rows measured, rounded up: what is found when
// only so much of a pool is measured. `share` in (0, 1].
[[nodiscard]] std::optional<double> best_in_top_share(std::span<const Ranking> kernels,
                                                      double share);
// Share of the kernels whose alternative predicted fastest takes at most (1 + tolerance) x the best
// measured.
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

// Selective accuracy (El-Yaniv and Wiener, JMLR 2010): MAPE of the share of the rows whose
// intervals are narrowest (high / low), rounded up to whole rows; among equally wide ones it is the
// expectation of a random choice. `share` in (0, 1].
[[nodiscard]] std::optional<double> selective_mape(std::span<const Pair> pairs,
                                                   std::span<const Interval> intervals,
                                                   double share);

// Of the rows that are off by more than a factor of two, the share whose interval reaches as far on
// that side: the model had said that it may be. nullopt where no row is.
[[nodiscard]] std::optional<double> announced_share(std::span<const Pair> pairs,
                                                    std::span<const Interval> intervals);

// 95 % percentile bootstrap (Efron 1979): `statistic` of `draws` resamples of indices 0 ... n - 1,
// or of whole groups where `group_of` names each index's group (rows of one kernel stay together).
// Deterministic for a seed. nullopt when n is 0 or fewer than half the resamples have a value.
using Statistic = std::function<std::optional<double>(std::span<const std::size_t>)>;
struct BootstrapOptions {
  int draws = 1000;
  std::uint64_t seed = 1;
};
[[nodiscard]] std::optional<Interval> bootstrap_interval(std::size_t n, const Statistic& statistic,
                                                         std::span<const std::size_t> group_of = {},
                                                         const BootstrapOptions& options = {});

}  // namespace tilecast::measured

// Compares search strategies on an exhaustively measured space: each strategy, with several seeds,
// against the fastest candidate (best in top K; ALCOP, MLSys 2023, figure 13).
//
//   std::vector<ComparedStrategy> rows = compare_strategies(space, times, {.jobs = 2});
//
// Deterministic, whatever `jobs`.
#pragma once

#include <vector>

#include "measured/metrics.h"
#include "search/tuner.h"

namespace tilecast::search {

struct CompareOptions {
  std::vector<std::size_t> trials = {10, 50};  // ascending
  std::size_t batch = TuneOptions{}.batch;
  std::size_t seeds = 20;
  std::uint64_t seed = 1;  // first seed; the others follow
  std::vector<Strategy> strategies = {Strategy::kGrid, Strategy::kRandom, Strategy::kModel,
                                      Strategy::kXgboost, Strategy::kHybrid};
  int jobs = 1;
  std::function<void()> step = [] {};  // called after each search, strategies x seeds times
};

// Time of the fastest candidate / time of the fastest found, 0 ... 1; 0 if every trial failed.
struct BestFound {
  std::size_t trials = 0;
  double mean = 0, least = 0;
  measured::Interval interval;  // 95 %, of the mean over seeds; a point if it does not vary
};
struct ComparedStrategy {
  Strategy strategy = Strategy::kGrid;
  std::vector<BestFound> at;  // by CompareOptions::trials
};

// `times`: seconds by candidate; nullopt: it fails. Throws Error if all fail.
[[nodiscard]] std::vector<ComparedStrategy> compare_strategies(
    const TuneSpace& space, std::span<const std::optional<double>> times,
    const CompareOptions& options);

// Combines results of several spaces, all compared with the same options: mean, interval and
// minimum over spaces of each space's mean over seeds.
[[nodiscard]] std::vector<ComparedStrategy> over_spaces(
    std::span<const std::vector<ComparedStrategy>> spaces);

}  // namespace tilecast::search

// How good searches are on a space that was measured whole: every strategy, several seeds, against
// the fastest of all (best in top K; ALCOP, MLSys 2023, figure 13).
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
  std::uint64_t seed = 1;  // the first of them
  std::vector<Strategy> strategies = {Strategy::kGrid, Strategy::kRandom, Strategy::kModel,
                                      Strategy::kXgboost, Strategy::kHybrid};
  int jobs = 1;
  std::function<void()> step = [] {};  // after each search, strategies x seeds times
};

// Fastest of all over fastest found, 0 ... 1; 0 where every trial failed.
struct BestFound {
  std::size_t trials = 0;
  double mean = 0, least = 0;
  measured::Interval interval;  // 95 %, of the mean over seeds; a point where it does not vary
};
struct ComparedStrategy {
  Strategy strategy = Strategy::kGrid;
  std::vector<BestFound> at;  // by CompareOptions::trials
};

// `times`: seconds by candidate; nullopt: it fails. Throws Error when all fail.
[[nodiscard]] std::vector<ComparedStrategy> compare_strategies(
    const TuneSpace& space, std::span<const std::optional<double>> times,
    const CompareOptions& options);

// Several spaces, all compared with the same options: means, intervals and least over spaces, of
// what each has in the mean over seeds.
[[nodiscard]] std::vector<ComparedStrategy> over_spaces(
    std::span<const std::vector<ComparedStrategy>> spaces);

}  // namespace tilecast::search

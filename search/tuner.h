// Searches for a kernel's fastest configuration within a budget of measurements (ALCOP, MLSys 2023,
// section IV-C and figure 13): rank all candidates, measure the best, learn from them, rank again.
//
//   TuneResult found = tune(space, measure, {.strategy = Strategy::kHybrid, .trials = 50});
//
// A candidate is a tile with optional parameters (make_space) and, where available, its analytical
// time. `measure` takes candidates and returns their times; a failed candidate returns none, counts
// as a trial, and is not measured again. The strategy chooses each batch:
//
//   first batch  hybrid: the best by physics, then the farthest from the chosen ones among the best
//                kFirstShare (at least a batch). xgboost: random. At least kFirstTrials.
//   later        the greatest expected improvement on the best measured (Jones, Schonlau and Welch,
//                J. Global Optimization 1998, eq. 15), in log time, of a surrogate
//                (search/tuner_surrogate.h). Within a batch, candidates similar to those already
//                chosen are discounted. hybrid: only the best kFirstShare ^ trust by physics; with
//                no trust in physics these are all candidates.
//
// Ties are broken in a random order drawn from the seed. Deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/cost_model.h"
#include "measured/metrics.h"

namespace tilecast::search {

enum class Strategy {
  kGrid,     // in the order given
  kRandom,   // without replacement
  kModel,    // by the model's times; candidates without one last, at random
  kXgboost,  // a random batch, then trees fitted to the measured ones; no physics
  kHybrid    // trees pretrained on physics over the whole space, continued on measurements
};
inline constexpr std::string_view kStrategies[] = {"grid", "random", "model", "xgboost", "hybrid"};

struct TuneSpace {
  std::size_t columns = 0;      // number of features, which describe the candidate
  std::vector<float> features;  // candidates x columns, row-major; NaN: no value
  std::vector<std::optional<double>> analytical;  // seconds, by candidate
  // Logarithms of other analytical results: candidates x term_columns, row-major; NaN: no value.
  std::size_t term_columns = 0;
  std::vector<float> terms = {};

  [[nodiscard]] std::size_t size() const { return analytical.size(); }
};

// Builds the space of one kernel's candidates from a model's estimates. Features are the bounds of
// a candidate's tile, its stages and warps, and its parameters; terms are each resource's busy
// time, iterations and bytes. The prior may be any cost model: the analytical one, or one trained
// on other machines. Throws Error if queries have different numbers of parameters. Thread-safe.
[[nodiscard]] TuneSpace make_space(std::span<const analytical::KernelQuery> queries,
                                   const hwdesc::Device& device,
                                   const analytical::CostModel& model);

// The same space in another order: the analytical times are reassigned, among the candidates that
// have one, in the order of the scores, smallest first. Candidates without a score come last.
[[nodiscard]] TuneSpace ordered_by(TuneSpace space, std::span<const std::optional<double>> scores);

struct TuneTrial {
  std::size_t candidate = 0;
  std::optional<double> predicted, measured;  // seconds
};
// Measures candidates; returns seconds in the same order, nullopt for a failed one.
using Measure = std::function<std::vector<std::optional<double>>(std::span<const TuneTrial> asked)>;

struct TuneOptions {
  Strategy strategy = Strategy::kHybrid;
  std::size_t trials = 50, batch = 2;
  std::uint64_t seed = 1;
  std::vector<TuneTrial> known = {};  // from an interrupted search; they count as trials
};

struct TuneResult {
  std::vector<TuneTrial> trials;    // in measurement order, known ones first
  std::optional<std::size_t> best;  // index into trials; nullopt: all failed
};

inline constexpr double kFirstShare = 0.1;
inline constexpr std::size_t kFirstTrials = 5;  // for strategies that learn

// Throws Error for an empty space, infinite features, a candidate that occurs twice in `known`, and
// times that are not positive.
[[nodiscard]] TuneResult tune(const TuneSpace& space, const Measure& measure,
                              const TuneOptions& options);

// Compares search strategies on an exhaustively measured space: each strategy, with several seeds,
// against the fastest candidate (best in top K; ALCOP, MLSys 2023, figure 13).
//
//   std::vector<ComparedStrategy> rows = compare_strategies(space, times, {.jobs = 2});
//
// Deterministic, whatever `jobs`.

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

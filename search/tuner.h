// Search for a kernel's fastest configuration with a budget of measurements (ALCOP, MLSys 2023,
// section IV-C and figure 13): rank all, measure the best, learn from them, rank again.
//
//   TuneResult found = tune(space, measure, {.strategy = Strategy::kHybrid, .trials = 50});
//
// A candidate is a tile, with or without parameters (make_space), with what physics says of it, or
// nothing. `measure` takes indices and answers times; a failed candidate has none, counts as a
// trial, and is not asked again. Each batch is chosen by the strategy:
//
//   first batch  hybrid: the best by physics, then of the best kFirstShare (at least a batch) those
//                that lie farthest from the chosen ones. xgboost: at random. At least kFirstTrials.
//   later        the greatest expected improvement on the best measured (Jones, Schonlau and Welch,
//                J. Global Optimization 1998, eq. 15), in log time, of a surrogate
//                (search/tuner_surrogate.h). After each choice of a batch the others count less the
//                more they are like it. hybrid: among the best kFirstShare ^ trust by physics, so
//                that of physics that proves wrong all candidates count.
//
// Candidates alike in rank are taken in an order drawn by seed. Deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/cost_model.h"

namespace tilecast::search {

enum class Strategy {
  kGrid,     // in the order given
  kRandom,   // without replacement
  kModel,    // by the times of the model; unanswered last, at random
  kXgboost,  // a random batch, then trees on the measured ones; no physics
  kHybrid    // trees pretrained on physics over the whole space, continued on measurements
};
inline constexpr std::string_view kStrategies[] = {"grid", "random", "model", "xgboost", "hybrid"};

struct TuneSpace {
  std::size_t columns = 0;                        // of features: how a candidate is written
  std::vector<float> features;                    // candidates x columns; NaN: no value
  std::vector<std::optional<double>> analytical;  // seconds, by candidate
  // What physics says besides its time: candidates x term_columns, logarithms; NaN: nothing.
  std::size_t term_columns = 0;
  std::vector<float> terms = {};

  [[nodiscard]] std::size_t size() const { return analytical.size(); }
};

// Candidates of one kernel, and what a model says of them. Features are the bounds of a candidate's
// tile, its stages and warps, and its parameters; terms are how long each resource is busy,
// iterations and bytes. Any cost model may be the prior: the analytical one, or one that was
// trained on other machines. Throws Error where queries have different numbers of parameters.
// Thread-safe.
[[nodiscard]] TuneSpace make_space(std::span<const analytical::KernelQuery> queries,
                                   const hwdesc::Device& device,
                                   const analytical::CostModel& model);

// The same space where another order is believed: physics' times are dealt out anew in the order of
// the scores. A candidate without a score comes after those that have one.
[[nodiscard]] TuneSpace ordered_by(TuneSpace space, std::span<const std::optional<double>> scores);

struct TuneTrial {
  std::size_t candidate = 0;
  std::optional<double> predicted, measured;  // seconds
};
// Seconds by asked trial, same order; nullopt: it failed.
using Measure = std::function<std::vector<std::optional<double>>(std::span<const TuneTrial> asked)>;

struct TuneOptions {
  Strategy strategy = Strategy::kHybrid;
  std::size_t trials = 50, batch = 2;
  std::uint64_t seed = 1;
  std::vector<TuneTrial> known = {};  // of an interrupted search: count as trials
};

struct TuneResult {
  std::vector<TuneTrial> trials;    // in the order measured, the known ones first
  std::optional<std::size_t> best;  // into trials; nullopt: all failed
};

inline constexpr double kFirstShare = 0.1;
inline constexpr std::size_t kFirstTrials = 5;  // of strategies that learn

// Throws Error for an empty space, infinite features, known trials of one candidate twice, and
// times that are not positive.
[[nodiscard]] TuneResult tune(const TuneSpace& space, const Measure& measure,
                              const TuneOptions& options);

}  // namespace tilecast::search

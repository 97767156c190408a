// Search for a kernel's fastest configuration with a budget of measurements (ALCOP, MLSys 2023,
// section IV-C and figure 13): rank all, measure the best, learn from them, rank again.
//
//   TuneResult found = tune(space, measure, {.strategy = Strategy::kHybrid, .trials = 50});
//
// A candidate is a tile, or parameters, or both, with what physics says of it (or nothing).
// `measure` takes indices and answers times; a failed candidate has none and is not asked again.
// Each batch is chosen by the strategy; candidates alike in rank are drawn by seed. Deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::hybrid {

enum class Strategy {
  kGrid,        // in the order given
  kRandom,      // without replacement
  kAnalytical,  // by physics; unanswered last, at random
  kXgboost,     // a random batch, then trees on the measured ones
  kHybrid       // physics first, then a corrector of physics with its features
};
inline constexpr std::string_view kStrategies[] = {"grid", "random", "analytical", "xgboost",
                                                   "hybrid"};

struct TuneSpace {
  std::size_t columns = 0;                        // of features
  std::vector<float> features;                    // candidates x columns; NaN: no value
  std::vector<std::optional<double>> analytical;  // seconds, by candidate

  [[nodiscard]] std::size_t size() const { return analytical.size(); }
};

// Seconds by asked candidate, same order; nullopt: it failed.
using Measure =
    std::function<std::vector<std::optional<double>>(std::span<const std::size_t> candidates)>;

struct TuneOptions {
  Strategy strategy = Strategy::kHybrid;
  std::size_t trials = 50, batch = 10;
  std::uint64_t seed = 1;
  std::function<void(std::size_t, std::optional<double>)> step = {};  // trials done, best so far
};

struct TuneTrial {
  std::size_t candidate = 0;
  std::optional<double> predicted, measured;  // seconds
};
struct TuneResult {
  std::vector<TuneTrial> trials;    // in the order measured
  std::optional<std::size_t> best;  // into trials; nullopt: all failed
};

// Throws Error for an empty space and for times that are not positive.
[[nodiscard]] TuneResult tune(const TuneSpace& space, const Measure& measure,
                              const TuneOptions& options);

}  // namespace tilecast::hybrid

#include "search/tuner_compare.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"

namespace tilecast::search {
namespace {

// Best time / best found time, after each number of trials.
std::vector<double> shares(const TuneSpace& space, std::span<const std::optional<double>> times,
                           const CompareOptions& options, Strategy strategy, std::uint64_t seed,
                           double fastest) {
  const Measure measure = [&](std::span<const TuneTrial> asked) {
    std::vector<std::optional<double>> answers;
    for (const TuneTrial& trial : asked) answers.push_back(times[trial.candidate]);
    return answers;
  };
  const TuneResult found = tune(space, measure,
                                {.strategy = strategy,
                                 .trials = options.trials.back(),
                                 .batch = options.batch,
                                 .seed = seed});
  std::vector<double> result;
  for (const std::size_t count : options.trials) {
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(count, found.trials.size()); ++i) {
      best = std::min(best, found.trials[i].measured.value_or(best));
    }
    result.push_back(fastest / best);
  }
  return result;
}

BestFound summary(std::size_t trials, std::span<const double> found, std::uint64_t seed) {
  constexpr int kDraws = 1000;
  const auto mean = [&](std::span<const std::size_t> drawn) -> std::optional<double> {
    double sum = 0;
    for (const std::size_t i : drawn) sum += found[i];
    return sum / static_cast<double>(drawn.size());
  };
  std::vector<std::size_t> all(found.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  BestFound result{.trials = trials, .mean = *mean(all), .least = std::ranges::min(found)};
  result.interval =
      measured::bootstrap_interval(found.size(), mean, {}, {.draws = kDraws, .seed = seed})
          .value_or(measured::Interval{result.mean, result.mean});
  return result;
}

}  // namespace

std::vector<ComparedStrategy> compare_strategies(const TuneSpace& space,
                                                 std::span<const std::optional<double>> times,
                                                 const CompareOptions& options) {
  TC_CHECK(times.size() == space.size(), "a time per candidate, or that it fails");
  TC_CHECK(!options.trials.empty() && options.seeds > 0, "something to compare");
  double fastest = std::numeric_limits<double>::infinity();
  for (const std::optional<double>& time : times)
    fastest = std::min(fastest, time.value_or(fastest));
  if (fastest == std::numeric_limits<double>::infinity()) {
    throw Error("tune: got no measured candidate, expected at least one");
  }
  const std::size_t seeds = options.seeds;
  std::vector<std::vector<double>> found(options.strategies.size() * seeds);
  base::parallel_for(found.size(), options.jobs, [&](std::size_t i) {
    found[i] = shares(space, times, options, options.strategies[i / seeds],
                      options.seed + i % seeds, fastest);
    options.step();
  });
  std::vector<ComparedStrategy> result;
  for (std::size_t s = 0; s < options.strategies.size(); ++s) {
    ComparedStrategy row{options.strategies[s], {}};
    for (std::size_t k = 0; k < options.trials.size(); ++k) {
      std::vector<double> at;
      for (std::size_t i = 0; i < seeds; ++i) at.push_back(found[s * seeds + i][k]);
      row.at.push_back(summary(options.trials[k], at, options.seed));
    }
    result.push_back(std::move(row));
  }
  return result;
}

std::vector<ComparedStrategy> over_spaces(std::span<const std::vector<ComparedStrategy>> spaces) {
  TC_CHECK(!spaces.empty(), "at least one space");
  constexpr std::uint64_t kSeed = 1;
  std::vector<ComparedStrategy> result = spaces.front();
  for (std::size_t s = 0; s < result.size(); ++s) {
    for (std::size_t k = 0; k < result[s].at.size(); ++k) {
      std::vector<double> means;
      for (const auto& space : spaces) means.push_back(space[s].at[k].mean);
      result[s].at[k] = summary(result[s].at[k].trials, means, kSeed);
    }
  }
  return result;
}

}  // namespace tilecast::search

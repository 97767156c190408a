#include "search/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "search/tuner_surrogate.h"

namespace tilecast::search {

namespace {

using Order = std::vector<std::size_t>;

Order random_order(std::size_t size, std::uint64_t seed) {
  Order order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 engine(seed);
  base::shuffle(order, engine);
  return order;
}

// Fastest by physics first; ties, and candidates without a time, in random order.
Order by_physics(const TuneSpace& space, std::uint64_t seed) {
  Order order = random_order(space.size(), seed);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return space.analytical[i].value_or(std::numeric_limits<double>::infinity());
  });
  return order;
}

void check(const TuneSpace& space) {
  if (space.size() == 0) throw Error("tune: got no candidates, expected at least one");
  TC_CHECK(space.features.size() == space.size() * space.columns, "features of every candidate");
  const auto finite = [](float x) { return std::isnan(x) || std::isfinite(x); };
  if (!std::ranges::all_of(space.features, finite)) {
    throw Error("tune: got an infinite feature, expected numbers or none");
  }
  for (const std::optional<double>& time : space.analytical) {
    if (time && !(*time > 0 && std::isfinite(*time))) {
      throw Error(fmt::format("tune: got an analytical time of {} s, expected more than 0", *time));
    }
  }
}

class Search {
 public:
  Search(const TuneSpace& space, const Measure& measure, const TuneOptions& options)
      : space_(space), measure_(measure), options_(options), taken_(space.size()) {
    for (const TuneTrial& trial : options.known) {
      if (trial.candidate >= space.size() || taken_[trial.candidate]) {
        throw Error("tune: got a known trial of an unknown candidate, or two trials of one");
      }
      add(trial);
    }
    if (learns()) surrogate_.emplace(space, options.strategy == Strategy::kHybrid);
    order_ = knows_physics() ? by_physics(space, options.seed)
                             : random_order(space.size(), options.seed);
    if (options.strategy == Strategy::kGrid) std::ranges::sort(order_);
  }

  TuneResult run() {
    const std::size_t trials = std::min(options_.trials, space_.size());
    while (result_.trials.size() < trials) {
      const bool is_first = learns() && result_.trials.empty();
      const std::size_t batch = std::max<std::size_t>(options_.batch, is_first ? kFirstTrials : 1);
      const std::size_t count = std::min(batch, trials - result_.trials.size());
      const std::vector<TuneTrial> asked = next(count);
      const std::vector<std::optional<double>> times = measure_(asked);
      TC_CHECK(times.size() == asked.size(), "an answer per candidate");
      for (std::size_t i = 0; i < asked.size(); ++i) {
        add({asked[i].candidate, asked[i].predicted, times[i]});
      }
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool learns() const {
    return options_.strategy == Strategy::kXgboost || options_.strategy == Strategy::kHybrid;
  }

  [[nodiscard]] bool knows_physics() const {
    return options_.strategy == Strategy::kModel || options_.strategy == Strategy::kHybrid;
  }

  void add(const TuneTrial& trial) {
    if (trial.measured && !(*trial.measured > 0 && std::isfinite(*trial.measured))) {
      throw Error(fmt::format("tune: candidate {}: got a time of {} s, expected more than 0",
                              trial.candidate, *trial.measured));
    }
    taken_[trial.candidate] = true;
    result_.trials.push_back(trial);
    if (!trial.measured) return;
    measured_.push_back(trial.candidate);
    log_times_.push_back(std::log(*trial.measured));
    const auto last = result_.trials.size() - 1;
    if (!result_.best || *trial.measured < *result_.trials[*result_.best].measured) {
      result_.best = last;
    }
  }

  [[nodiscard]] std::vector<TuneTrial> next(std::size_t count) {
    if (learns() && !measured_.empty()) return improving(count);
    if (options_.strategy == Strategy::kHybrid) return spread(count);
    return in_order(count);
  }

  [[nodiscard]] TuneTrial by_order(std::size_t candidate) const {
    return {candidate, knows_physics() ? space_.analytical[candidate] : std::nullopt, std::nullopt};
  }

  [[nodiscard]] std::vector<TuneTrial> in_order(std::size_t count) const {
    std::vector<TuneTrial> batch;
    for (const std::size_t candidate : order_) {
      if (batch.size() == count) break;
      if (!taken_[candidate]) batch.push_back(by_order(candidate));
    }
    return batch;
  }

  // The best by physics, then repeatedly the farthest from all chosen (Gonzalez 1985).
  [[nodiscard]] std::vector<TuneTrial> spread(std::size_t count) const {
    const auto share = static_cast<std::size_t>(kFirstShare * static_cast<double>(space_.size()));
    Order pool;
    for (std::size_t rank = 0; rank < order_.size(); ++rank) {
      if (pool.size() >= std::max(share, count) && !ties_with_last(rank)) break;
      if (!taken_[order_[rank]]) pool.push_back(order_[rank]);
    }
    std::vector<TuneTrial> batch;
    std::vector<double> distance(pool.size(), std::numeric_limits<double>::infinity());
    std::size_t chosen = 0;
    while (batch.size() < std::min(count, pool.size())) {
      batch.push_back(by_order(pool[chosen]));
      for (std::size_t i = 0; i < pool.size(); ++i) {
        distance[i] = std::min(distance[i], surrogate_->distance2(pool[i], pool[chosen]));
      }
      distance[chosen] = -1;
      chosen = static_cast<std::size_t>(std::ranges::max_element(distance) - distance.begin());
    }
    return batch;
  }

  [[nodiscard]] std::vector<TuneTrial> improving(std::size_t count) {
    Order left;
    for (const std::size_t candidate : order_) {
      if (!taken_[candidate]) left.push_back(candidate);
    }
    surrogate_->fit(measured_, log_times_, options_.seed + result_.trials.size());
    std::vector<double> means(left.size()), deviations(left.size()), gain(left.size());
    surrogate_->predict(left, means, deviations);
    const double best = std::ranges::min(log_times_);
    for (std::size_t i = 0; i < left.size(); ++i) {
      gain[i] = expected_improvement(best - means[i], deviations[i]);
    }
    const auto end = gain.begin() + static_cast<std::ptrdiff_t>(std::max(believed(), count));
    std::vector<TuneTrial> batch;
    while (batch.size() < std::min(count, left.size())) {
      const auto at = static_cast<std::size_t>(
          std::max_element(gain.begin(), std::min(end, gain.end())) - gain.begin());
      batch.push_back({left[at], std::exp(means[at]), std::nullopt});
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (gain[i] > 0) gain[i] *= 1 - surrogate_->likeness(left[i], left[at]);
      }
      gain[at] = -std::numeric_limits<double>::infinity();
    }
    return batch;
  }

  // Number of remaining candidates to consider, in the order of physics: those among the best
  // kFirstShare ^ trust, a share of at least `trials` candidates. Without physics: all.
  [[nodiscard]] std::size_t believed() const {
    if (!knows_physics()) return space_.size();
    const double share = std::pow(kFirstShare, std::min(surrogate_->trust(), 1.0));
    const double most =
        std::max(share * static_cast<double>(space_.size()), static_cast<double>(options_.trials));
    std::size_t open = 0;
    for (std::size_t rank = 0; rank < order_.size(); ++rank) {
      if (static_cast<double>(rank) >= most && !ties_with_last(rank)) break;
      if (!taken_[order_[rank]]) ++open;
    }
    return open;
  }

  // Whether its analytical time equals that of the previous rank, so that the two are tied.
  [[nodiscard]] bool ties_with_last(std::size_t rank) const {
    return rank > 0 && space_.analytical[order_[rank]] == space_.analytical[order_[rank - 1]];
  }

  // Expected improvement of a normally distributed log time. Without scatter it is the certain
  // gain.
  static double expected_improvement(double gain, double deviation) {
    constexpr double kLeast = 1e-6;
    const double s = std::max(deviation, kLeast);
    const double z = gain / s;
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
    return gain * 0.5 * std::erfc(-z / std::numbers::sqrt2) + s * density;
  }

  const TuneSpace& space_;
  const Measure& measure_;
  const TuneOptions& options_;
  std::vector<bool> taken_;
  Order order_;  // of all candidates
  std::optional<Surrogate> surrogate_;
  Order measured_;
  std::vector<double> log_times_;
  TuneResult result_;
};

}  // namespace

TuneResult tune(const TuneSpace& space, const Measure& measure, const TuneOptions& options) {
  check(space);
  return Search(space, measure, options).run();
}

namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

// A feature table, filled column by column.
class Table {
 public:
  explicit Table(std::size_t rows) : rows_(rows) {}

  template <class ValueOf>
  void add(const ValueOf& value_of) {
    std::vector<float> column(rows_);
    for (std::size_t row = 0; row < rows_; ++row) column[row] = value_of(row);
    columns_.push_back(std::move(column));
  }
  [[nodiscard]] std::size_t columns() const { return columns_.size(); }
  [[nodiscard]] std::vector<float> by_row() const {
    std::vector<float> values;
    for (std::size_t row = 0; row < rows_; ++row) {
      for (const std::vector<float>& column : columns_) values.push_back(column[row]);
    }
    return values;
  }

 private:
  std::size_t rows_;
  std::vector<std::vector<float>> columns_;
};

using Queries = std::span<const analytical::KernelQuery>;
using List = ir::Dims analytical::TileConfig::*;
constexpr List kLists[] = {&analytical::TileConfig::output, &analytical::TileConfig::kernel,
                           &analytical::TileConfig::input};

// Bounds that a tile does not have are missing values: the loop is not cut.
void add_tiles(Table& table, Queries queries) {
  for (const List list : kLists) {
    std::size_t width = 0;
    for (const analytical::KernelQuery& query : queries) {
      if (query.tile != nullptr) width = std::max(width, (query.tile->*list).size());
    }
    for (std::size_t i = 0; i < width; ++i) {
      table.add([&](std::size_t row) {
        const analytical::TileConfig* tile = queries[row].tile;
        const bool cut = tile != nullptr && i < (tile->*list).size();
        return cut ? static_cast<float>((tile->*list)[i]) : kNothing;
      });
    }
  }
  for (const auto member : {&analytical::TileConfig::stages, &analytical::TileConfig::warps}) {
    table.add([&](std::size_t row) {
      const analytical::TileConfig* tile = queries[row].tile;
      return tile == nullptr || tile->*member == 0 ? kNothing : static_cast<float>(tile->*member);
    });
  }
}

void add_parameters(Table& table, Queries queries) {
  const std::size_t width = queries.front().parameters.size();
  for (const analytical::KernelQuery& query : queries) {
    if (query.parameters.size() == width) continue;
    throw Error(fmt::format("tune: got a candidate of {} parameters, expected {} as the first",
                            query.parameters.size(), width));
  }
  for (std::size_t i = 0; i < width; ++i) {
    table.add([&](std::size_t row) { return queries[row].parameters[i]; });
  }
}

using Answers = std::span<const std::optional<analytical::Estimate>>;

// Analytical terms of a candidate, as logarithms: busy time of each resource, iterations, bytes.
void add_terms(Table& table, Answers answers) {
  const auto add = [&](const auto& value_of) {
    table.add([&](std::size_t row) {
      const double value = answers[row] ? value_of(*answers[row]) : 0;
      return value > 0 ? static_cast<float>(std::log(value)) : kNothing;
    });
  };
  for (std::size_t bound = 0; bound < analytical::kBoundCount; ++bound) {
    add([&](const analytical::Estimate& e) { return e.bounds[bound].value; });
  }
  add([](const analytical::Estimate& e) { return e.iterations; });
  add([](const analytical::Estimate& e) { return (e.hbm_read + e.hbm_write).value; });
  add([](const analytical::Estimate& e) { return e.scratchpad_used.value; });
}

}  // namespace

TuneSpace make_space(std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device,
                     const analytical::CostModel& model) {
  TuneSpace space;
  if (queries.empty()) return space;
  Table written(queries.size()), terms(queries.size());
  add_tiles(written, queries);
  add_parameters(written, queries);
  const std::vector<std::optional<analytical::Estimate>> answers = model.estimate(queries, device);
  add_terms(terms, answers);
  space.columns = written.columns();
  space.features = written.by_row();
  space.term_columns = terms.columns();
  space.terms = terms.by_row();
  for (const auto& estimate : answers) {
    space.analytical.push_back(estimate ? std::optional(estimate->time.value) : std::nullopt);
  }
  return space;
}

TuneSpace ordered_by(TuneSpace space, std::span<const std::optional<double>> scores) {
  TC_CHECK(scores.size() == space.size(), "a score or none for each candidate");
  std::vector<std::size_t> order;
  std::vector<double> times;
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (!space.analytical[i]) continue;
    order.push_back(i);
    times.push_back(*space.analytical[i]);
  }
  std::ranges::sort(times);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return scores[i].value_or(std::numeric_limits<double>::infinity());
  });
  for (std::size_t i = 0; i < order.size(); ++i) space.analytical[order[i]] = times[i];
  return space;
}

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

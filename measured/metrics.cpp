#include "measured/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <unordered_map>

#include "base/error.h"
#include "base/statistics.h"

namespace tilecast::measured {
namespace {

void check_times(std::span<const Pair> pairs) {
  for (const Pair& pair : pairs) {
    TC_CHECK(std::isfinite(pair.predicted) && pair.predicted > 0 && std::isfinite(pair.measured) &&
                 pair.measured > 0,
             "times in a metric are positive and finite");
  }
}

std::vector<double> absolute_errors(std::span<const Pair> pairs) {
  check_times(pairs);
  std::vector<double> errors;
  errors.reserve(pairs.size());
  for (const Pair& pair : pairs) errors.push_back(std::abs(pair.predicted / pair.measured - 1));
  return errors;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> ape_quantile(std::span<const Pair> pairs, double q) {
  if (pairs.empty()) return std::nullopt;
  return base::quantile(absolute_errors(pairs), q);
}

std::uint64_t pairs_of(std::uint64_t n) {
  return n < 2 ? 0 : n * (n - 1) / 2;
}

// Number of pairs of equal elements in a sorted range.
template <class Items, class Equal>
std::uint64_t tied_pairs(const Items& sorted, const Equal& equal) {
  std::uint64_t ties = 0, run = 1;
  for (std::size_t i = 1; i <= sorted.size(); ++i) {
    if (i < sorted.size() && equal(sorted[i - 1], sorted[i])) {
      ++run;
    } else {
      ties += pairs_of(run);
      run = 1;
    }
  }
  return ties;
}

// Merge sort that counts the exchanges of a bubble sort, which is the number of strictly decreasing
// (discordant) pairs.
std::uint64_t sort_and_count(std::vector<double>& values) {
  std::vector<double> merged(values.size());
  std::uint64_t exchanges = 0;
  for (std::size_t width = 1; width < values.size(); width *= 2) {
    for (std::size_t low = 0; low < values.size(); low += 2 * width) {
      const std::size_t middle = std::min(low + width, values.size());
      const std::size_t high = std::min(low + 2 * width, values.size());
      std::size_t left = low, right = middle;
      for (std::size_t out = low; out < high; ++out) {
        const bool take_right = left == middle || (right < high && values[right] < values[left]);
        if (take_right) exchanges += middle - left;
        merged[out] = take_right ? values[right++] : values[left++];
      }
    }
    values.swap(merged);
  }
  return exchanges;
}

// Twice the rank of each pair's `side` less the mean rank; equal values share the mean of theirs.
std::vector<double> centred_ranks(std::span<const Pair> pairs, double Pair::*side) {
  std::vector<double> sorted;
  sorted.reserve(pairs.size());
  for (const Pair& pair : pairs) sorted.push_back(pair.*side);
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> ranks;
  ranks.reserve(pairs.size());
  for (const Pair& pair : pairs) {
    const auto [first, end] = std::equal_range(sorted.begin(), sorted.end(), pair.*side);
    ranks.push_back(static_cast<double>((first - sorted.begin()) - (sorted.end() - end)));
  }
  return ranks;
}

bool can_be_ranked(const Ranking& ranking) {
  return ranking.size() >= 2;
}

double best_measured(const Ranking& ranking) {
  return std::min_element(ranking.begin(), ranking.end(),
                          [](const Pair& a, const Pair& b) { return a.measured < b.measured; })
      ->measured;
}

// Mean of `value(fastest measured among the k predicted fastest)`. If equal predictions straddle
// the k-th place, the remaining places are drawn from them at random, and the result is the
// expectation over the draws: P(the i-th fastest of g is the fastest of r drawn) = C(g - 1 - i, r -
// 1) / C(g, r).
template <class Value>
double expected_over_ties(const Ranking& ranking, std::size_t k, const Value& value) {
  Ranking order = ranking;
  std::sort(order.begin(), order.end(), [](const Pair& a, const Pair& b) {
    return a.predicted != b.predicted ? a.predicted < b.predicted : a.measured < b.measured;
  });
  k = std::min(k, order.size());
  const double last = order[k - 1].predicted;
  const auto tied = std::partition_point(order.begin(), order.end(),
                                         [&](const Pair& p) { return p.predicted < last; });
  const auto end =
      std::partition_point(tied, order.end(), [&](const Pair& p) { return p.predicted <= last; });
  double sure = INFINITY;
  for (auto it = order.begin(); it != tied; ++it) sure = std::min(sure, it->measured);
  const auto g = static_cast<double>(end - tied);
  const double r = static_cast<double>(k) - static_cast<double>(tied - order.begin());
  double sum = 0, probability = r / g;
  for (double i = 0; i + r <= g; ++i) {
    sum += probability * value(std::min(sure, tied[static_cast<std::ptrdiff_t>(i)].measured));
    probability *= (g - i - r) / std::max(g - 1 - i, 1.0);
  }
  return sum;
}

// Mean of `of(ranking)` over the kernels that can be ranked.
template <class Function>
std::optional<double> mean_over(std::span<const Ranking> kernels, const Function& of) {
  double sum = 0;
  std::size_t n = 0;
  for (const Ranking& ranking : kernels) {
    check_times(ranking);
    if (!can_be_ranked(ranking)) continue;
    if (const std::optional<double> value = of(ranking)) {
      sum += *value;
      ++n;
    }
  }
  if (n == 0) return std::nullopt;
  return sum / static_cast<double>(n);
}

std::size_t places(int k) {
  TC_CHECK(k >= 1, "top-k needs at least one place");
  return static_cast<std::size_t>(k);
}

// Rounds up, tolerating binary rounding: 0.1 of 10 is 1.
std::size_t rows_in(double share, std::size_t rows) {
  constexpr double kRounding = 1e-9;
  TC_CHECK(share > 0 && share <= 1, "a share of rows is above 0 and at most 1");
  return static_cast<std::size_t>(std::ceil(share * static_cast<double>(rows) - kRounding));
}

double found_share(const Ranking& ranking, std::size_t k) {
  const double fastest = best_measured(ranking);
  return expected_over_ties(ranking, k, [&](double chosen) { return fastest / chosen; });
}

double slowdown_of(const Ranking& ranking, int k) {
  const double fastest = best_measured(ranking);
  return expected_over_ties(ranking, places(k),
                            [&](double chosen) { return chosen / fastest - 1; });
}

}  // namespace

std::optional<double> mape(std::span<const Pair> pairs) {
  if (pairs.empty()) return std::nullopt;
  return mean(absolute_errors(pairs));
}

std::optional<double> median_ape(std::span<const Pair> pairs) {
  return ape_quantile(pairs, 0.5);
}

std::optional<double> p90_ape(std::span<const Pair> pairs) {
  return ape_quantile(pairs, 0.9);
}

std::optional<double> geometric_bias(std::span<const Pair> pairs) {
  if (pairs.empty()) return std::nullopt;
  check_times(pairs);
  double sum = 0;
  for (const Pair& pair : pairs) sum += std::log(pair.predicted) - std::log(pair.measured);
  return std::exp(sum / static_cast<double>(pairs.size()));
}

std::optional<double> log_l1(std::span<const Pair> pairs) {
  if (pairs.empty()) return std::nullopt;
  check_times(pairs);
  double sum = 0;
  for (const Pair& pair : pairs) sum += std::abs(std::log(pair.predicted / pair.measured));
  return sum / static_cast<double>(pairs.size());
}

std::optional<double> total_ratio(std::span<const Pair> pairs) {
  if (pairs.empty()) return std::nullopt;
  check_times(pairs);
  double predicted = 0, measured = 0;
  for (const Pair& pair : pairs) {
    predicted += pair.runs * pair.predicted;
    measured += pair.runs * pair.measured;
  }
  return predicted / measured;
}

std::optional<double> kendall_tau_b(std::span<const Pair> pairs) {
  check_times(pairs);
  std::vector<Pair> order(pairs.begin(), pairs.end());
  std::sort(order.begin(), order.end(), [](const Pair& a, const Pair& b) {
    return a.predicted != b.predicted ? a.predicted < b.predicted : a.measured < b.measured;
  });
  const std::uint64_t all = pairs_of(order.size());
  const std::uint64_t tied_predicted =
      tied_pairs(order, [](const Pair& a, const Pair& b) { return a.predicted == b.predicted; });
  const std::uint64_t tied_both = tied_pairs(order, [](const Pair& a, const Pair& b) {
    return a.predicted == b.predicted && a.measured == b.measured;
  });
  std::vector<double> measured;
  measured.reserve(order.size());
  for (const Pair& pair : order) measured.push_back(pair.measured);
  const std::uint64_t discordant = sort_and_count(measured);
  const std::uint64_t tied_measured =
      tied_pairs(measured, [](double a, double b) { return a == b; });
  if (tied_predicted == all || tied_measured == all) return std::nullopt;
  const std::uint64_t concordant = all - tied_predicted - tied_measured + tied_both - discordant;
  const double difference = static_cast<double>(concordant) - static_cast<double>(discordant);
  return difference / (std::sqrt(static_cast<double>(all - tied_predicted)) *
                       std::sqrt(static_cast<double>(all - tied_measured)));
}

std::optional<double> spearman_rho(std::span<const Pair> pairs) {
  check_times(pairs);
  const std::vector<double> predicted = centred_ranks(pairs, &Pair::predicted);
  const std::vector<double> measured = centred_ranks(pairs, &Pair::measured);
  const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const double of_predicted = product(predicted, predicted);
  const double of_measured = product(measured, measured);
  if (of_predicted == 0 || of_measured == 0) return std::nullopt;
  return product(predicted, measured) / (std::sqrt(of_predicted) * std::sqrt(of_measured));
}

std::optional<double> mean_tau_b(std::span<const Ranking> kernels) {
  return mean_over(kernels, [](const Ranking& ranking) { return kendall_tau_b(ranking); });
}

std::optional<double> tile_size_ape(std::span<const Ranking> kernels) {
  double lost = 0, best = 0;
  for (const Ranking& ranking : kernels) {
    check_times(ranking);
    if (!can_be_ranked(ranking)) continue;
    const double fastest = best_measured(ranking);
    lost += expected_over_ties(ranking, 1, [&](double chosen) { return chosen - fastest; });
    best += fastest;
  }
  if (best == 0) return std::nullopt;
  return lost / best;
}

std::optional<double> top_k_slowdown(std::span<const Ranking> kernels, int k) {
  return mean_over(kernels, [&](const Ranking& ranking) -> std::optional<double> {
    return slowdown_of(ranking, k);
  });
}

std::optional<double> top_1_slowdown_quantile(std::span<const Ranking> kernels, double q) {
  std::vector<double> slowdowns;
  for (const Ranking& ranking : kernels) {
    check_times(ranking);
    if (can_be_ranked(ranking)) slowdowns.push_back(slowdown_of(ranking, 1));
  }
  if (slowdowns.empty()) return std::nullopt;
  return base::quantile(slowdowns, q);
}

std::optional<double> best_in_top_k(std::span<const Ranking> kernels, int k) {
  return mean_over(kernels, [&](const Ranking& ranking) -> std::optional<double> {
    return found_share(ranking, places(k));
  });
}

std::optional<double> best_in_top_share(std::span<const Ranking> kernels, double share) {
  return mean_over(kernels, [&](const Ranking& ranking) -> std::optional<double> {
    return found_share(ranking, rows_in(share, ranking.size()));
  });
}

std::optional<double> top_1_within(std::span<const Ranking> kernels, double tolerance) {
  return mean_over(kernels, [&](const Ranking& ranking) -> std::optional<double> {
    const double longest = (1 + tolerance) * best_measured(ranking);
    return expected_over_ties(ranking, 1,
                              [&](double chosen) { return chosen <= longest ? 1.0 : 0.0; });
  });
}

std::optional<double> selective_mape(std::span<const Pair> pairs,
                                     std::span<const Interval> intervals, double share) {
  TC_CHECK(intervals.size() == pairs.size(), "one interval per row");
  if (pairs.empty()) return std::nullopt;
  const std::vector<double> errors = absolute_errors(pairs);
  struct Row {
    double width, error;
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    rows.push_back({intervals[i].high / intervals[i].low, errors[i]});
  }
  std::ranges::sort(rows, {}, &Row::width);
  const std::size_t kept = rows_in(share, rows.size());
  double sum = 0;
  for (std::size_t first = 0; first < kept;) {  // rows of equal width
    double alike = 0, of_alike = 0;
    std::size_t end = first;
    for (; end < rows.size() && rows[end].width == rows[first].width; ++end) {
      of_alike += rows[end].error;
      ++alike;
    }
    sum += of_alike * static_cast<double>(std::min(end, kept) - first) / alike;
    first = end;
  }
  return sum / static_cast<double>(kept);
}

std::optional<IntervalScore> interval_score(std::span<const Interval> intervals,
                                            std::span<const double> measured) {
  TC_CHECK(intervals.size() == measured.size(), "one interval per measurement");
  if (intervals.empty()) return std::nullopt;
  double inside = 0, width = 0;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const Interval& interval = intervals[i];
    TC_CHECK(interval.low > 0 && interval.low <= interval.high && std::isfinite(interval.high),
             "an interval of times is positive, finite and in order");
    TC_CHECK(std::isfinite(measured[i]) && measured[i] > 0, "a measured time is positive, finite");
    if (interval.low <= measured[i] && measured[i] <= interval.high) ++inside;
    width += interval.high / interval.low - 1;
  }
  const auto n = static_cast<double>(intervals.size());
  return IntervalScore{.coverage = inside / n, .mean_width = width / n};
}

std::optional<double> announced_share(std::span<const Pair> pairs,
                                      std::span<const Interval> intervals) {
  TC_CHECK(intervals.size() == pairs.size(), "one interval per pair");
  constexpr double kFactor = 2;
  double large = 0, announced = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double predicted = pairs[i].predicted, measured = pairs[i].measured;
    if (measured > kFactor * predicted) {
      ++large;
      if (intervals[i].high >= kFactor * predicted) ++announced;
    } else if (predicted > kFactor * measured) {
      ++large;
      if (kFactor * intervals[i].low <= predicted) ++announced;
    }
  }
  return large > 0 ? std::optional(announced / large) : std::nullopt;
}

// The percentile bootstrap of measured/metrics.h.

namespace {

constexpr double kTail = 0.025;  // per side, for 95 %

// The indices of each group, groups in order of first appearance; without groups, one index each.
std::vector<std::vector<std::size_t>> groups(std::size_t n, std::span<const std::size_t> group_of) {
  std::vector<std::vector<std::size_t>> members;
  std::unordered_map<std::size_t, std::size_t> place;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t group = group_of.empty() ? i : group_of[i];
    const auto [found, fresh] = place.try_emplace(group, members.size());
    if (fresh) members.emplace_back();
    members[found->second].push_back(i);
  }
  return members;
}

// A random number in 0 ... count - 1, the same on every platform (unlike
// std::uniform_int_distribution): the high half of a 32-bit draw times the count.
std::size_t draw(std::mt19937_64& random, std::size_t count) {
  constexpr int kBits = 32;
  return static_cast<std::size_t>(((random() >> kBits) * count) >> kBits);
}

}  // namespace

std::optional<Interval> bootstrap_interval(std::size_t n, const Statistic& statistic,
                                           std::span<const std::size_t> group_of,
                                           const BootstrapOptions& options) {
  TC_CHECK(group_of.empty() || group_of.size() == n, "every index has a group, or none");
  TC_CHECK(options.draws >= 1, "a bootstrap draws at least once");
  TC_CHECK(n <= UINT32_MAX, "a bootstrap of at most 2^32 - 1 rows");
  if (n == 0) return std::nullopt;
  const std::vector<std::vector<std::size_t>> members = groups(n, group_of);
  std::mt19937_64 random(options.seed);
  std::vector<double> values;
  std::vector<std::size_t> sample;
  for (int i = 0; i < options.draws; ++i) {
    sample.clear();
    for (std::size_t g = 0; g < members.size(); ++g) {
      const std::vector<std::size_t>& drawn = members[draw(random, members.size())];
      sample.insert(sample.end(), drawn.begin(), drawn.end());
    }
    const std::optional<double> value = statistic(sample);
    if (value && std::isfinite(*value)) values.push_back(*value);
  }
  if (2 * values.size() < static_cast<std::size_t>(options.draws)) return std::nullopt;
  return Interval{.low = base::quantile(values, kTail), .high = base::quantile(values, 1 - kTail)};
}

double measured_range(std::span<const QuantityPair> pairs) {
  if (pairs.empty()) return 0;
  const auto [least, most] = std::ranges::minmax_element(pairs, {}, &QuantityPair::measured);
  return most->measured - least->measured;
}

std::optional<QuantityScores> quantity_scores(std::span<const QuantityPair> pairs, double range,
                                              bool count) {
  if (pairs.empty()) return std::nullopt;
  QuantityScores scores{.rows = pairs.size()};
  const auto rows = static_cast<double>(pairs.size());
  double squares = 0, exact = 0;  // exact: number of rows
  for (const QuantityPair& pair : pairs) {
    TC_CHECK(std::isfinite(pair.predicted) && std::isfinite(pair.measured), "a finite quantity");
    const double off = pair.predicted - pair.measured;
    squares += off * off / rows;
    scores.mean_absolute += std::abs(off) / rows;
    exact += std::round(pair.predicted) == std::round(pair.measured) ? 1 : 0;
  }
  scores.rmse = std::sqrt(squares);
  if (range > 0) scores.rmse_of_range = scores.rmse / range;
  if (count) scores.exact = exact / rows;
  return scores;
}

}  // namespace tilecast::measured

#include "hybrid/trial_statistics.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"

namespace tilecast::hybrid {
namespace {

constexpr int kWeightSteps = 20;
constexpr double kMostLogRatio = 30;  // of a ratio

using Group = std::uint32_t;

// exp(log_ratio) - 1, where a learner may have predicted anything.
double grown(double log_ratio) {
  return std::expm1(std::clamp(log_ratio, -kMostLogRatio, kMostLogRatio));
}

struct GroupErrors {
  std::array<double, kWeightSteps + 1> sums{};  // by weight
  double rows = 0;
};

double weight_of_step(int step) {
  return static_cast<double>(step) / kWeightSteps;
}

// How many deviations a mean of n gains must be above 0 by: one (the 84 % quantile of a normal
// distribution), or 95 % sure where the next kind or device must not lose; Student's t.
double deviations_for(double n, bool safe) {
  constexpr double kOneDeviation = 0.8413, kSure = 0.95;
  return quantile(boost::math::students_t(n - 1), safe ? kSure : kOneDeviation);
}

// No held-out kind or device may lose more than this by a correction that others taught.
constexpr double kMargin = 0.01;

}  // namespace

double error_of(const Trial& trial, double weight) {
  return std::log1p(trial.share * grown(trial.residual)) -
         std::log1p(trial.share * grown(weight * trial.predicted));
}

double best_weight(std::span<const Counted> trials, const Allowed& allowed) {
  std::map<Group, GroupErrors> groups;
  for (const auto& [trial, share] : trials) {
    GroupErrors& group = groups[trial->group];
    group.rows += share;
    for (int step = 0; step <= kWeightSteps; ++step) {
      group.sums[step] += share * std::fabs(error_of(*trial, weight_of_step(step)));
    }
  }
  std::erase_if(groups, [](const auto& each) { return !(each.second.rows > 0); });
  if (groups.size() < 2) return 0;
  const auto n = static_cast<double>(groups.size());
  const double deviations = deviations_for(n, allowed.safe);
  double best_gain = 0, best = 0;
  for (int step = 1; step <= kWeightSteps && weight_of_step(step) <= allowed.cap; ++step) {
    std::vector<double> gains;
    for (const auto& [number, group] : groups) {
      gains.push_back((group.sums[0] - group.sums[step]) / group.rows);
    }
    if (allowed.safe && std::ranges::min(gains) < -kMargin) break;
    const double mean = std::accumulate(gains.begin(), gains.end(), 0.0) / n;
    double squares = 0;
    for (const double gain : gains) squares += (gain - mean) * (gain - mean);
    // One more kind or device is to gain, not only their mean.
    const double spread = squares / (n - 1) * (allowed.safe ? 1 + 1 / n : 1 / n);
    const double gain = mean - deviations * std::sqrt(spread);
    if (gain > best_gain) {
      best_gain = gain;
      best = weight_of_step(step);
    }
  }
  return best;
}

Spread spread_of(std::span<const Labelled> points) {
  struct Sums {
    double n = 0, mean = 0;
  };
  std::map<Group, Sums> groups;
  double mean = 0;
  for (const Labelled& point : points) {
    Sums& group = groups[point.group];
    group.n += 1;
    group.mean += (point.error - group.mean) / group.n;
    mean += point.error / static_cast<double>(points.size());
  }
  Spread spread{.rows = static_cast<double>(points.size()),
                .groups = static_cast<double>(groups.size())};
  for (const auto& [number, group] : groups) {
    spread.between += group.n * (group.mean - mean) * (group.mean - mean);
    spread.squared_sizes += group.n * group.n;
  }
  for (const Labelled& point : points) {
    const double difference = point.error - groups.at(point.group).mean;
    spread.within += difference * difference;
  }
  if (spread.groups > 1) {
    spread.between /= spread.groups - 1;
    spread.typical = (spread.rows - spread.squared_sizes / spread.rows) / (spread.groups - 1);
  }
  if (spread.rows > spread.groups) spread.within /= spread.rows - spread.groups;
  return spread;
}

double intraclass(const Spread& spread) {
  if (spread.groups < 2 || spread.rows <= spread.groups) return 0;
  const double total = spread.between + (spread.typical - 1) * spread.within;
  if (!(total > 0)) return 0;
  return std::clamp((spread.between - spread.within) / total, 0.0, 1.0);
}

double effective_number(const Spread& spread) {
  const double mean_size = spread.squared_sizes / spread.rows;  // of a row's group
  const double effect = spread.groups < 2 ? mean_size : 1 + (mean_size - 1) * intraclass(spread);
  return std::floor(std::max(spread.rows / effect, spread.groups));
}

double new_group_factor(const Spread& spread) {
  TC_CHECK(spread.groups >= 2, "groups scatter");
  const double rho = intraclass(spread);
  constexpr double kUpper = 0.95;
  const double of_few = quantile(boost::math::students_t(spread.groups - 1), kUpper);
  const double ratio = of_few / quantile(boost::math::normal(), kUpper);
  return std::sqrt(1 - rho + rho * ratio * ratio * (1 + 1 / spread.groups));
}

double ranked(std::vector<double> values, std::size_t n, std::size_t percent) {
  std::ranges::sort(values);
  const std::size_t size = values.size();
  const std::size_t rank = (size * (n + 1) * percent + 100 * n - 1) / (100 * n);
  return values[std::min(rank, size) - 1];
}

}  // namespace tilecast::hybrid

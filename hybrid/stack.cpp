#include "hybrid/stack.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"

namespace tilecast::hybrid {
namespace {

// What a row counts so that every group counts alike, by row of `fitted`.
std::vector<double> group_shares(const TrialRows& rows, std::span<const std::size_t> fitted) {
  std::map<std::string, double> sizes;
  for (const std::size_t row : fitted) sizes[rows.by_group[row]] += 1;
  std::vector<double> shares;
  for (const std::size_t row : fitted) shares.push_back(1 / sizes.at(rows.by_group[row]));
  return shares;
}

}  // namespace

bool enough_to_stack(const TrialRows& rows, std::size_t learners) {
  const std::set<std::string> groups(rows.by_group.begin(), rows.by_group.end());
  return learners >= 2 && rows.by_group.size() >= kStackRows && groups.size() >= kStackGroups;
}

std::vector<double> stack_weights(const TrialRows& rows, std::span<const Corrections> predicted,
                                  std::span<const std::size_t> fitted) {
  const std::vector<double> shares = group_shares(rows, fitted);
  const auto error = [&](std::span<const double> sum, const Corrections* added, int count) {
    double total = 0;
    for (std::size_t i = 0; i < fitted.size(); ++i) {
      const std::size_t row = fitted[i];
      const double mean = (sum[i] + (added == nullptr ? 0 : (*added)[row])) / count;
      const double share = std::sqrt(rows.examples.rows[row].weight);
      total += shares[i] * whole_error(rows.residual(row), mean, share);
    }
    return total;
  };
  std::vector<double> sum(fitted.size()), weights(predicted.size());
  for (int step = 1; step <= kStackSteps; ++step) {
    double least = error(sum, nullptr, step);
    std::size_t best = predicted.size();  // physics
    for (std::size_t c = 0; c < predicted.size(); ++c) {
      const double with = error(sum, &predicted[c], step);
      if (!(with < least)) continue;
      least = with;
      best = c;
    }
    if (best == predicted.size()) continue;
    weights[best] += 1.0 / kStackSteps;
    for (std::size_t i = 0; i < fitted.size(); ++i) sum[i] += predicted[best][fitted[i]];
  }
  return weights;
}

Corrections stacked(std::span<const Corrections> predicted, std::span<const double> weights) {
  TC_CHECK(predicted.size() == weights.size() && !predicted.empty(), "a weight per learner");
  Corrections result(predicted.front().size());
  for (std::size_t c = 0; c < predicted.size(); ++c) {
    for (std::size_t row = 0; row < result.size(); ++row) {
      result[row] += weights[c] * predicted[c][row];
    }
  }
  return result;
}

Corrections stack_trials(const TrialRows& rows, std::span<const Corrections> predicted,
                         std::span<const measured::Split> splits) {
  Corrections result(rows.by_group.size());
  for (std::size_t out = 0; out < splits.size(); ++out) {
    std::vector<std::size_t> fitted;
    for (std::size_t other = 0; other < splits.size(); ++other) {
      if (other == out) continue;
      fitted.insert(fitted.end(), splits[other].score.begin(), splits[other].score.end());
    }
    const std::vector<double> weights = stack_weights(rows, predicted, fitted);
    for (const std::size_t row : splits[out].score) {
      for (std::size_t c = 0; c < predicted.size(); ++c) {
        result[row] += weights[c] * predicted[c][row];
      }
    }
  }
  return result;
}

}  // namespace tilecast::hybrid

#include "validation/experiment_directions.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "validation/experiment_scores.h"

namespace tilecast::validation {
namespace {

using Verdict = DirectionResult::Verdict;

constexpr std::size_t kFewestSeeds = 3;
constexpr double kTwoSided95 = 0.975;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

const ResultStratum& stratum_of(const Experiment& experiment, const Direction& direction,
                                std::span<const ResultStratum> strata) {
  for (const ResultStratum& stratum : strata) {
    if (stratum.title() == direction.stratum) return stratum;
  }
  throw Error(
      fmt::format("{}: directions: no stratum is called '{}'", experiment.file, direction.stratum));
}

DirectionResult check(const Experiment& experiment, const Direction& direction,
                      const ResultStratum& stratum) {
  const auto cell = [&](const std::string& column) -> const Cell& {
    const auto at = std::ranges::find(experiment.columns, column) - experiment.columns.begin();
    return stratum.cells[static_cast<std::size_t>(at)][static_cast<std::size_t>(direction.metric)];
  };
  const Cell& better = cell(direction.better);
  const Cell& than = cell(direction.than);
  DirectionResult result{.direction = direction};
  std::vector<double> of_better, of_than, differences;
  for (std::size_t i = 0; i < std::min(better.by_seed.size(), than.by_seed.size()); ++i) {
    if (!better.by_seed[i] || !than.by_seed[i]) continue;
    of_better.push_back(*better.by_seed[i]);
    of_than.push_back(*than.by_seed[i]);
    differences.push_back(of_better.back() - of_than.back());
  }
  result.seeds = differences.size();
  result.better = differences.empty() ? better.value : mean(of_better);
  result.than = differences.empty() ? than.value : mean(of_than);
  result.difference = t_interval(differences);
  if (!result.difference) return result;
  const bool below = result.difference->high<0, above = result.difference->low> 0;
  if (below || above) {
    const bool agrees = more_is_better(direction.metric) ? above : below;
    result.verdict = agrees ? Verdict::kAgrees : Verdict::kDisagrees;
  }
  return result;
}

}  // namespace

std::optional<measured::Interval> t_interval(std::span<const double> values) {
  if (values.size() < kFewestSeeds) return std::nullopt;
  const double middle = mean(values);
  const auto n = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  const double error_of_mean = std::sqrt(squares / (n - 1) / n);
  const double t = boost::math::quantile(boost::math::students_t(n - 1), kTwoSided95);
  return measured::Interval{middle - t * error_of_mean, middle + t * error_of_mean};
}

std::vector<DirectionResult> check_directions(const Experiment& experiment,
                                              std::span<const ResultStratum> strata) {
  std::vector<DirectionResult> results;
  for (const Direction& direction : experiment.directions) {
    results.push_back(check(experiment, direction, stratum_of(experiment, direction, strata)));
  }
  return results;
}

}  // namespace tilecast::validation

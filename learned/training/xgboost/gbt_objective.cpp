#include "learned/training/xgboost/gbt_objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.h"

namespace tilecast::learned {
namespace {

constexpr std::size_t kPartners = 32;

void check_values(const GbtTable& table, std::string_view what) {
  const std::size_t rows = table.rows();
  TC_CHECK(table.columns > 0 && table.values.size() == rows * table.columns, "a value per cell");
  TC_CHECK(table.groups.size() == rows, "a group per row");
  TC_CHECK(table.weights.empty() || table.weights.size() == rows, "a weight per row");
  const auto cell = std::ranges::find_if(table.values, [](float v) { return std::isinf(v); });
  if (cell != table.values.end()) {
    const auto at = static_cast<std::size_t>(cell - table.values.begin());
    throw Error(fmt::format("{}: got {} in row {}, column {}, expected a finite number or NaN",
                            what, *cell, at / table.columns, at % table.columns));
  }
  TC_CHECK(table.margins.empty() || table.margins.size() == rows, "a margin per row");
  for (const std::vector<float>* values : {&table.targets, &table.weights, &table.margins}) {
    const auto bad = std::ranges::find_if_not(*values, [](float v) { return std::isfinite(v); });
    if (bad == values->end()) continue;
    throw Error(
        fmt::format("{}: got {} as target, weight or margin of row {}, expected a finite number",
                    what, *bad, bad - values->begin()));
  }
}

std::vector<double> scaled_weights(const GbtTable& table, std::string_view what) {
  if (table.weights.empty()) return std::vector<double>(table.rows(), 1.0);
  std::vector<double> weights(table.weights.begin(), table.weights.end());
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (*std::ranges::min_element(weights) < 0 || sum <= 0) {
    throw Error(fmt::format("{}: expected weights that are not negative, and one above 0", what));
  }
  for (double& weight : weights) weight *= static_cast<double>(weights.size()) / sum;
  return weights;
}

// Rounds to multiples of a power of two: sums of all values, in any order, are exact in a double
// (53 bits). At most 2^-29 of the largest value is lost for up to 2^23 rows.
void round_for_exact_sums(std::span<const double> from, std::vector<float>& to) {
  double largest = 0;
  for (const double value : from) largest = std::max(largest, std::abs(value));
  const int bits = 52 - std::bit_width(from.size());
  const double step = largest > 0 ? std::ldexp(1.0, std::ilogb(largest) + 1 - bits) : 1;
  to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double single = static_cast<float>(from[i]);
    to[i] = static_cast<float>(std::nearbyint(single / step) * step);
  }
}

// Number of rows seen so far by the rank of their margin (Fenwick, 1994).
class RankCounts {
 public:
  explicit RankCounts(std::size_t size) : sums_(size + 1) {}
  void add(std::size_t rank) {
    for (std::size_t i = rank + 1; i < sums_.size(); i += i & (~i + 1)) ++sums_[i];
  }
  [[nodiscard]] std::size_t below(std::size_t rank) const {
    std::size_t sum = 0;
    for (std::size_t i = rank; i > 0; i -= i & (~i + 1)) sum += sums_[i];
    return sum;
  }

 private:
  std::vector<std::size_t> sums_;
};

// Share of the pairs with different targets whose margins are the other way round; ties half.
double share_out_of_order(std::span<const float> targets, std::span<const float> margins) {
  std::vector<float> levels(margins.begin(), margins.end());
  std::ranges::sort(levels);
  std::vector<std::size_t> order(targets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return targets[i]; });
  RankCounts seen(levels.size());
  const auto rank = [&](std::size_t i) {
    return static_cast<std::size_t>(std::ranges::lower_bound(levels, margins[i]) - levels.begin());
  };
  double wrong = 0, pairs = 0;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    for (; last < order.size() && targets[order[last]] == targets[order[first]]; ++last) {
      const std::size_t r = rank(order[last]);
      const std::size_t below = seen.below(r), not_above = seen.below(r + 1);
      wrong += static_cast<double>(first - not_above) + static_cast<double>(not_above - below) / 2;
      pairs += static_cast<double>(first);
    }
    for (; first < last; ++first) seen.add(rank(order[first]));
  }
  return wrong / pairs;
}

}  // namespace

GbtLoss::GbtLoss(const GbtTable& table, const GbtSpec& spec, std::string_view what)
    : table_(&table),
      spec_(spec),
      rank_weight_(ranks(spec.objective) ? spec.rank_weight : 0),
      random_(spec.seed) {
  if (table.rows() == 0) throw Error(fmt::format("{}: no rows", what));
  check_values(table, what);
  weights_ = scaled_weights(table, what);
  if (rank_weight_ == 0) return;
  std::set<std::uint32_t> seen;
  for (std::size_t first = 0; first < table.rows();) {
    std::size_t last = first;
    while (last < table.rows() && table.groups[last] == table.groups[first]) ++last;
    TC_CHECK(seen.insert(table.groups[first]).second, "rows of a group stand together");
    const auto [low, high] =
        std::minmax_element(table.targets.begin() + static_cast<std::ptrdiff_t>(first),
                            table.targets.begin() + static_cast<std::ptrdiff_t>(last));
    double weight = 0;
    for (std::size_t row = first; row < last; ++row) weight += weights_[row];
    if (*low < *high && weight > 0) {
      const std::size_t size = last - first;
      groups_.push_back({first, size, weight / static_cast<double>(size)});
    }
    first = last;
  }
  if (groups_.empty() && rank_weight_ == 1) {
    throw Error(
        fmt::format("{}: nothing to rank: got {} groups of equal targets, expected one "
                    "with two different ones",
                    what, seen.size()));
  }
}

const Gradients& GbtLoss::gradients(std::span<const float> margins) {
  TC_CHECK(margins.size() == table_->rows(), "a margin per row");
  first_.assign(margins.size(), 0);
  second_.assign(margins.size(), 0);
  if (rank_weight_ < 1) add_rows(margins);
  for (const Group& group : groups_) add_pairs(group, margins);
  if (spec_.objective == GbtObjective::kHuber) scale_curvature();
  leave_out_rows();
  round_for_exact_sums(first_, gradients_.first);
  round_for_exact_sums(second_, gradients_.second);
  return gradients_;
}

void GbtLoss::add_rows(std::span<const float> margins) {
  for (std::size_t i = 0; i < margins.size(); ++i) {
    const double error = static_cast<double>(margins[i]) - table_->targets[i];
    const double robust = spec_.objective == GbtObjective::kHuber
                              ? spec_.linear_above / std::max(std::abs(error), spec_.linear_above)
                              : 1;
    const double weight = (1 - rank_weight_) * weights_[i] * robust;
    const double slope = spec_.objective != GbtObjective::kQuantile ? error
                         : error < 0                                ? -spec_.quantile
                                                                    : 1 - spec_.quantile;
    first_[i] = weight * slope;
    second_[i] = weight;
  }
}

void GbtLoss::add_pairs(const Group& group, std::span<const float> margins) {
  const bool all = group.size <= kPartners + 1;
  const auto size = static_cast<double>(group.size);
  const double pairs = all ? size * (size - 1) / 2 : size * static_cast<double>(kPartners);
  const double weight = rank_weight_ * group.weight * size / pairs;
  for (std::size_t a = 0; a < group.size; ++a) {
    const std::size_t partners = all ? a : kPartners;
    for (std::size_t k = 0; k < partners; ++k) {
      const std::size_t b = all ? k : random_() % group.size;
      add_pair(group.first + a, group.first + b, weight, margins);
    }
  }
}

void GbtLoss::add_pair(std::size_t i, std::size_t j, double weight,
                       std::span<const float> margins) {
  const std::vector<float>& targets = table_->targets;
  if (targets[i] == targets[j]) return;
  if (targets[i] > targets[j]) std::swap(i, j);
  const double apart = static_cast<double>(margins[i]) - margins[j];  // should be negative
  double slope = 0, curvature = 1;
  if (spec_.objective == GbtObjective::kPairwise) {
    slope = 1 / (1 + std::exp(-apart));
    curvature = std::max(slope * (1 - slope), 1e-16);
  } else {
    slope = apart + (static_cast<double>(targets[j]) - targets[i]);
    if (slope <= 0) return;
  }
  first_[i] += weight * slope;
  first_[j] -= weight * slope;
  second_[i] += weight * curvature;
  second_[j] += weight * curvature;
}

void GbtLoss::scale_curvature() {
  const double sum = std::accumulate(second_.begin(), second_.end(), 0.0);
  const double scale = static_cast<double>(second_.size()) / sum;
  for (double& each : first_) each *= scale;
  for (double& each : second_) each *= scale;
}

void GbtLoss::leave_out_rows() {
  if (spec_.subsample >= 1) return;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    if (static_cast<double>(random_() >> 11) * 0x1p-53 < spec_.subsample) continue;
    first_[i] = second_[i] = 0;
  }
}

double GbtLoss::loss_of(double error) const {
  const double size = std::abs(error), d = spec_.linear_above;
  if (spec_.objective == GbtObjective::kHuber) {
    return size <= d ? size * size / 2 : d * (size - d / 2);
  }
  if (spec_.objective != GbtObjective::kQuantile) return error * error;
  return size * (error < 0 ? spec_.quantile : 1 - spec_.quantile);
}

double GbtLoss::score_of_rows(std::span<const float> margins) const {
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < margins.size(); ++i) {
    sum += weights_[i] * loss_of(static_cast<double>(margins[i]) - table_->targets[i]);
    weight += weights_[i];
  }
  const bool mean =
      spec_.objective == GbtObjective::kHuber || spec_.objective == GbtObjective::kQuantile;
  return mean ? sum / weight : std::sqrt(sum / weight);
}

double GbtLoss::score_of_pairs(std::span<const float> margins) const {
  double sum = 0, weight = 0;
  for (const Group& group : groups_) {
    const double rows = group.weight * static_cast<double>(group.size);
    const std::span<const float> targets = table_->targets;
    sum += rows * share_out_of_order(targets.subspan(group.first, group.size),
                                     margins.subspan(group.first, group.size));
    weight += rows;
  }
  return weight > 0 ? sum / weight : 0;
}

double GbtLoss::score(std::span<const float> margins) const {
  TC_CHECK(margins.size() == table_->rows(), "a margin per row");
  double score = 0;
  if (rank_weight_ < 1) score += (1 - rank_weight_) * score_of_rows(margins);
  if (rank_weight_ > 0) score += rank_weight_ * score_of_pairs(margins);
  return score;
}

}  // namespace tilecast::learned

#include "hybrid/bag_fit.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/parallel.h"
#include "base/random.h"

namespace tilecast::hybrid {
namespace {

using Left = std::vector<bool>;  // by group number: whether it is left out

class BagFit {
 public:
  BagFit(const BagSpec& spec, const BagRows& rows, std::span<const std::size_t> chosen)
      : spec_(spec), rows_(rows), chosen_(chosen), width_(rows.features.size() / rows.size()) {
    std::vector<double> sorted;
    for (const std::size_t row : chosen) {
      sorted.push_back(rows.residual[row]);
      if (rows.group[row] >= group_rows_.size()) group_rows_.resize(rows.group[row] + 1U);
      group_rows_[rows.group[row]] += 1;
    }
    std::ranges::sort(sorted);
    const auto at = [&](double share) {
      return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
    };
    low_ = at(kClipped);
    high_ = at(1 - kClipped);
    plan();
  }

  FittedBag run(int jobs) const {
    std::vector<std::optional<learned::GbtModel>> fitted(spec_.members);
    base::parallel_for(spec_.members, jobs, [&](std::size_t member) {
      learned::GbtSpec trees = spec_.trees;
      trees.seed = spec_.seed + member;
      fitted[member] = learned::train_gbt(table_of(member), {}, trees);
    });
    std::vector<learned::GbtModel> members;
    for (auto& model : fitted) members.push_back(std::move(*model));
    FittedBag result{.bag = {}, .unseen = unseen(members)};
    result.bag = Bag(spec_.features, std::move(members));
    return result;
  }

 private:
  [[nodiscard]] std::span<const float> features(std::size_t row) const {
    return std::span(rows_.features).subspan(row * width_, width_);
  }

  void plan() {
    std::vector<std::uint32_t> groups;
    for (std::uint32_t group = 0; group < group_rows_.size(); ++group) {
      if (group_rows_[group] > 0) groups.push_back(group);
    }
    const std::size_t folds = std::max<std::size_t>(1, spec_.members / kOpinions);
    std::mt19937_64 random(spec_.seed);
    for (std::size_t member = 0; member < spec_.members; ++member) {
      if (member % folds == 0) base::shuffle(groups, random);
      Left& left = without_groups_.emplace_back(group_rows_.size());
      if (folds == 1 || groups.size() == 1) continue;
      for (std::size_t i = member % folds; i < groups.size(); i += folds) left[groups[i]] = true;
    }
  }

  [[nodiscard]] learned::GbtTable table_of(std::size_t member) const {
    std::vector<std::size_t> used;
    for (const std::size_t row : chosen_) {
      if (!without_groups_[member][rows_.group[row]]) used.push_back(row);
    }
    learned::GbtTable table{.columns = width_};
    for (const std::size_t row : used) {
      const std::span<const float> values = features(row);
      table.values.insert(table.values.end(), values.begin(), values.end());
      table.targets.push_back(static_cast<float>(std::clamp(rows_.residual[row], low_, high_)));
      table.groups.push_back(rows_.examples.rows[row].kernel);
      const double of_group = std::sqrt(static_cast<double>(group_rows_[rows_.group[row]]));
      table.weights.push_back(static_cast<float>(rows_.examples.rows[row].weight / of_group));
    }
    return table;
  }

  [[nodiscard]] std::vector<std::optional<Opinion>> unseen(
      std::span<const learned::GbtModel> members) const {
    std::vector<float> rows;
    for (const std::size_t row : chosen_) {
      const std::span<const float> values = features(row);
      rows.insert(rows.end(), values.begin(), values.end());
    }
    std::vector<std::vector<float>> said(members.size(), std::vector<float>(chosen_.size()));
    for (std::size_t member = 0; member < members.size(); ++member) {
      members[member].predict(rows, said[member]);
    }
    std::vector<std::optional<Opinion>> result;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      double n = 0, sum = 0, squares = 0;
      for (std::size_t member = 0; member < members.size(); ++member) {
        if (!without_groups_[member][rows_.group[chosen_[i]]]) continue;
        const auto value = static_cast<double>(said[member][i]);
        n += 1;
        sum += value;
        squares += value * value;
      }
      const double mean = sum / std::max(n, 1.0);
      result.push_back(
          n < double{kOpinions}
              ? std::nullopt
              : std::optional(Opinion{mean, std::sqrt(std::max(0.0, squares / n - mean * mean))}));
    }
    return result;
  }

  const BagSpec& spec_;
  const BagRows& rows_;
  std::span<const std::size_t> chosen_;
  std::size_t width_;
  std::vector<std::size_t> group_rows_;  // rows by group
  double low_ = 0, high_ = 0;            // limits for residuals
  std::vector<Left> without_groups_;     // by member
};

}  // namespace

FittedBag fit_bag(const BagSpec& spec, const BagRows& rows, std::span<const std::size_t> chosen,
                  int jobs) {
  return BagFit(spec, rows, chosen).run(jobs);
}

}  // namespace tilecast::hybrid

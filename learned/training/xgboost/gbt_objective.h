// What boosted trees are fitted to: gradients of the loss at the margins so far, and a score to
// watch. Private to module.cpp.
//
// kLogTime: (margin - target)^2 / 2 per row. kQuantile, with x = target - margin: x q above 0,
// x (q - 1) below; its second derivative, 0, is taken for 1. Of pairs of one group with
// target_i < target_j: kPairwise log(1 + exp(margin_i - margin_j)) (RankNet: Burges et al., ICML
// 2005); kAllPairs max(0, x)^2 / 2 with x = (target_j - target_i) - (margin_j - margin_i). A group
// of at most kPartners + 1 rows has all its pairs; in a larger one each row draws kPartners others
// anew every round. A group's pairs together weigh as many rows as it has. The loss of pairs counts
// GbtSpec::rank_weight, squared error the rest.
//
// XGBoost has both losses, but its ranking draws pairs, and its subsample draws rows, by thread:
// the model would depend on the number of threads. Rows are drawn here instead (one that is not
// gets no gradient), and gradients are rounded to multiples of a power of two so small that it
// costs nothing and so large that every sum over rows is exact in a double, whatever its order.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "learned/training/gbt_trainer.h"

namespace tilecast::learned {

struct Gradients {
  std::vector<float> first, second;  // by row
};

// Keeps references to the table. Throws Error when it cannot be learned from, naming `what`.
class GbtLoss {
 public:
  GbtLoss(const GbtTable& table, const GbtSpec& spec, std::string_view what);

  // Those of the next round: draws continue from call to call.
  const Gradients& gradients(std::span<const float> margins);
  // GbtRound::train; weighted.
  [[nodiscard]] double score(std::span<const float> margins) const;

 private:
  struct Group {
    std::size_t first = 0, size = 0;
    double weight = 1;
  };

  void add_rows(std::span<const float> margins);
  void add_pairs(const Group& group, std::span<const float> margins);
  void add_pair(std::size_t i, std::size_t j, double weight, std::span<const float> margins);
  void leave_out_rows();
  [[nodiscard]] double score_of_rows(std::span<const float> margins) const;
  [[nodiscard]] double score_of_pairs(std::span<const float> margins) const;

  const GbtTable* table_;
  GbtSpec spec_;
  double rank_weight_;  // 0: no pairs
  std::mt19937_64 random_;
  std::vector<double> weights_;  // by row, mean 1
  std::vector<Group> groups_;    // those with two different targets; when ranking
  std::vector<double> first_, second_;
  Gradients gradients_;
};

}  // namespace tilecast::learned

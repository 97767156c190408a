// The objectives of boosted trees: gradients of the loss at the current margins, and a score for
// monitoring. Private to module.cpp.
//
// kLogTime: (margin - target)^2 / 2 per row. kHuber: of errors |x| above d = linear_above, |x| d -
// d^2 / 2. Its second derivative is that of the parabola that touches it from above, d / |x|, so
// that leaves are weighted means (Hunter and Lange, "A tutorial on MM algorithms", 2004); both are
// scaled to a mean second derivative of 1, as that of squared errors. kQuantile, with x = target -
// margin: x q above 0, x (q - 1) below; its second derivative, 0, is replaced by 1. Pairs of one
// group with target_i < target_j: kPairwise log(1 + exp(margin_i - margin_j)) (RankNet: Burges et
// al., ICML 2005); kAllPairs max(0, x)^2 / 2 with x = (target_j - target_i) - (margin_j -
// margin_i). A group of at most kPartners + 1 rows uses all pairs; in larger groups each row draws
// kPartners other rows in every round. The pairs of a group have the weight of its rows.
// GbtSpec::rank_weight is the weight of the pairs' loss, squared error has the rest.
//
// XGBoost has both losses, but draws pairs for ranking, and rows for subsamples, per thread, so the
// model would depend on the number of threads. Therefore rows are drawn here (others get no
// gradient), and gradients are rounded to multiples of a power of two that loses no relevant
// precision, so that sums over rows are exact in a double in any order.
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

// Keeps references to the table. Throws Error that names `what` if the table cannot be learned
// from.
class GbtLoss {
 public:
  GbtLoss(const GbtTable& table, const GbtSpec& spec, std::string_view what);

  // The gradients of the next round; random draws continue between calls.
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
  void scale_curvature();
  void leave_out_rows();
  [[nodiscard]] double loss_of(double error) const;  // of a row
  [[nodiscard]] double score_of_rows(std::span<const float> margins) const;
  [[nodiscard]] double score_of_pairs(std::span<const float> margins) const;

  const GbtTable* table_;
  GbtSpec spec_;
  double rank_weight_;  // 0: no pairs
  std::mt19937_64 random_;
  std::vector<double> weights_;  // by row, mean 1
  std::vector<Group> groups_;    // groups with two different targets; when ranking
  std::vector<double> first_, second_;
  Gradients gradients_;
};

}  // namespace tilecast::learned

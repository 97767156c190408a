// A bag of boosted trees that say log(measured / physics). Every member was fitted without some of
// the measured groups and machines (hybrid/bag_fit.h): where members disagree too little was
// measured, and hybrid/shrinkage.h believes less.
//
//   bag.ask(queries, device, priors, opinions);
//
// All members see the same columns (learned/table_features.h). Source: Breiman, "Bagging
// predictors", Machine Learning 24, 1996. Thread-safe, deterministic; priors are the analytical
// answers, one per query, and a query without one gets an opinion of 0.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "learned/gbt_model.h"
#include "learned/predictor.h"
#include "learned/table_features.h"

namespace tilecast::hybrid {

// Of the members: log(measured / physics), and how far they scatter about it.
struct Opinion {
  double mean = 0, deviation = 0;
};

// What an opinion rests on: how far it moves without one feature of the kernel.
struct Driver {
  std::string feature;
  double value = 0, effect = 0;  // effect: on the log of the time; they do not add up
};

inline constexpr std::size_t kMostMembers = 32;

class Bag {
 public:
  Bag() : Bag(learned::FeatureSelection{}, {}) {}  // without members: no opinion, 0 of all
  Bag(learned::FeatureSelection selection, std::vector<learned::GbtModel> members);

  void ask(std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device,
           learned::Priors priors, std::span<Opinion> out) const;
  // Of rows of features: row-major, out.size() x features().width().
  void ask_rows(std::span<const float> rows, std::span<Opinion> out) const;
  // How far the mean moves where one feature is missing, largest first, at most `most`.
  [[nodiscard]] std::vector<Driver> effects(const analytical::KernelQuery& query,
                                            const hwdesc::Device& device, learned::Priors priors,
                                            std::size_t most) const;

  [[nodiscard]] bool empty() const { return members_.empty(); }
  [[nodiscard]] const learned::FeatureSelection& selection() const { return selection_; }
  [[nodiscard]] const learned::TableFeatures& features() const { return features_; }
  [[nodiscard]] const std::vector<learned::GbtModel>& members() const { return members_; }

 private:
  learned::FeatureSelection selection_;
  learned::TableFeatures features_;
  std::vector<learned::GbtModel> members_;
};

}  // namespace tilecast::hybrid

// A bag of boosted trees that predict log(measured / physics). Every member is fitted without some
// of the measured groups (hybrid/bag_fit.h). Disagreement between members indicates too few
// measurements, and hybrid/shrinkage.h then applies less of the correction.
//
//   bag.ask(queries, device, priors, opinions);
//
// All members use the same columns (learned/table_features.h). Source: Breiman, "Bagging
// predictors", Machine Learning 24, 1996. Thread-safe, deterministic. Priors are the analytical
// estimates, one per query; a query without one gets an opinion of 0.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/lazy.h"
#include "learned/gbt_model.h"
#include "learned/predictor.h"
#include "learned/table_features.h"

namespace tilecast::hybrid {

// Mean and standard deviation of the members' predictions of log(measured / physics).
struct Opinion {
  double mean = 0, deviation = 0;
};

// Effect of one feature on an opinion: its change when the feature is treated as missing.
struct Driver {
  std::string feature;
  double value = 0, effect = 0;  // effect: on log time; effects are not additive
};

inline constexpr std::size_t kMostMembers = 32;

class Bag {
 public:
  Bag() : Bag(learned::FeatureSelection{}, {}) {}  // without members: every opinion is 0
  using Members = std::vector<learned::GbtModel>;
  Bag(learned::FeatureSelection selection, base::Lazy<Members> members);

  void ask(std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device,
           learned::Priors priors, std::span<Opinion> out) const;
  // The same for rows of features: row-major, out.size() x features().width().
  void ask_rows(std::span<const float> rows, std::span<Opinion> out) const;
  // Effects of single features on the mean, largest first, at most `most`.
  [[nodiscard]] std::vector<Driver> effects(const analytical::KernelQuery& query,
                                            const hwdesc::Device& device, learned::Priors priors,
                                            std::size_t most) const;

  [[nodiscard]] const learned::FeatureSelection& selection() const { return selection_; }
  [[nodiscard]] const learned::TableFeatures& features() const { return features_; }
  [[nodiscard]] const Members& members() const { return *members_; }

 private:
  learned::FeatureSelection selection_;
  learned::TableFeatures features_;
  base::Lazy<Members> members_;  // read on first use
};

}  // namespace tilecast::hybrid

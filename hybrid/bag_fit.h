// Fits a bag of boosted trees to log(measured / physics).
//
//   FittedBag fitted = fit_bag(spec, rows, all, jobs);
//   fitted.bag.ask(...);              // all members
//   fitted.unseen[i]                  // members that saw nothing of the group of row i
//
// Every member leaves out kWithoutGroups of the groups at random, as a bootstrap would (Breiman,
// 1996: 37 %): what members that saw less say otherwise is what more measurements might change. A
// row weighs 1 / sqrt(rows of its group), since rows of one kernel share its error, and as
// learned::Example::weight; residuals beyond kClipped on either side count as that. Deterministic
// whatever `jobs`.
#pragma once

#include <cstdint>

#include "hybrid/bag.h"
#include "learned/training/examples.h"
#include "learned/training/gbt_trainer.h"

namespace tilecast::hybrid {

inline constexpr double kWithoutGroups = 0.37, kClipped = 0.005;

struct BagSpec {
  learned::FeatureSelection features;
  std::size_t members = 12;
  // In trials 40 trees of rate 0.2 did as well as 120 of 0.07, within 0.1 points of MAPE.
  learned::GbtSpec trees = {.trees = 40, .depth = 6, .learning_rate = 0.2, .early_stopping = 0};
  std::uint64_t seed = 1;
};

// Rows that physics answers. Groups, sources and devices are numbered from 0.
struct BagRows {
  learned::Examples examples;  // with priors
  std::vector<double> residual;
  std::vector<std::uint32_t> group, source, device;
  std::vector<float> features;  // row-major, as BagSpec::features

  [[nodiscard]] std::size_t size() const { return residual.size(); }
};

struct FittedBag {
  Bag bag;
  // By row fitted: of the members that saw no row of its group; nullopt where too few did not.
  std::vector<std::optional<Opinion>> unseen;
};

// `chosen`: the rows fitted, at least one.
[[nodiscard]] FittedBag fit_bag(const BagSpec& spec, const BagRows& rows,
                                std::span<const std::size_t> chosen, int jobs);

}  // namespace tilecast::hybrid

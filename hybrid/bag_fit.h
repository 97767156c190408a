// Fits a bag of boosted trees to log(measured / physics).
//
//   FittedBag fitted = fit_bag(spec, rows, all, jobs);
//   fitted.bag.ask(...);              // all members
//   fitted.unseen[i]                  // of the members that saw no row of row i's group
//
// Every member leaves out a random share kWithoutGroups of the groups, as a bootstrap would
// (Breiman, 1996: 37 %), so the scatter of members estimates how much more measurements could
// change. A row's weight is learned::Example::weight / sqrt(rows of its group), since rows of one
// kernel share its error. Residuals are clipped at their kClipped quantiles on either side.
// Deterministic, whatever `jobs`.
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
  // 40 trees at rate 0.2 are as accurate in trials as 120 at 0.07, within 0.1 points of MAPE.
  learned::GbtSpec trees = {.trees = 40, .depth = 6, .learning_rate = 0.2, .early_stopping = 0};
  std::uint64_t seed = 1;
};

// Rows with an analytical estimate. Groups, sources and devices are numbered from 0.
struct BagRows {
  learned::Examples examples;  // with priors
  std::vector<double> residual;
  std::vector<std::uint32_t> group, source, device;
  std::vector<float> features;  // row-major, columns of BagSpec::features

  [[nodiscard]] std::size_t size() const { return residual.size(); }
};

struct FittedBag {
  Bag bag;
  // By fitted row: the opinion of members that saw no row of its group; nullopt if there are too
  // few.
  std::vector<std::optional<Opinion>> unseen;
};

// `chosen`: the rows to fit, at least one.
[[nodiscard]] FittedBag fit_bag(const BagSpec& spec, const BagRows& rows,
                                std::span<const std::size_t> chosen, int jobs);

}  // namespace tilecast::hybrid

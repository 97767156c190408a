// Fits a bag of boosted trees to log(measured / physics).
//
//   FittedBag fitted = fit_bag(spec, rows, all, jobs);
//   fitted.bag.ask(...);              // all members
//   fitted.unseen[i]                  // of the members that saw no row of row i's group
//
// The groups are dealt at random into members / kOpinions folds, kOpinions times; every member
// leaves out one fold, so that each group has kOpinions members that did not see it. Their scatter
// estimates how much more measurements could change. A row's weight is learned::Example::weight /
// sqrt(rows of its group), since rows of one kernel share its error. Residuals are clipped at their
// kClipped quantiles on either side. Deterministic, whatever `jobs`.
#pragma once

#include <cstdint>

#include "hybrid/bag.h"
#include "learned/training/examples.h"
#include "learned/training/gbt_trainer.h"

namespace tilecast::hybrid {

inline constexpr double kClipped = 0.005;
inline constexpr std::size_t kOpinions = 3;

// 40 trees at rate 0.2 are as accurate in trials as 120 at 0.07, within 0.1 points of MAPE.
inline constexpr learned::GbtSpec kTerms = {
    .trees = 40, .depth = 6, .learning_rate = 0.2, .early_stopping = 0};
// For thousands of rows with every column: chosen by trials on programs left out of the fitted rows
// of hybrid_host_programs.
inline constexpr learned::GbtSpec kManyColumns = {.objective = learned::GbtObjective::kHuber,
                                                  .linear_above = 0.02,
                                                  .trees = 40,
                                                  .depth = 8,
                                                  .learning_rate = 0.2,
                                                  .min_child_weight = 4,
                                                  .early_stopping = 0};

struct BagSpec {
  learned::FeatureSelection features;
  std::size_t members = 12;
  learned::GbtSpec trees = kTerms;
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
  // By fitted row: the opinion of members that saw no row of its group; nullopt with a single
  // group or fewer than two folds.
  std::vector<std::optional<Opinion>> unseen;
};

// `chosen`: the rows to fit, at least one.
[[nodiscard]] FittedBag fit_bag(const BagSpec& spec, const BagRows& rows,
                                std::span<const std::size_t> chosen, int jobs);

}  // namespace tilecast::hybrid

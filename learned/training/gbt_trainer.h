// Trains boosted trees with XGBoost, in a module loaded on first use; learned/gbt_model.h only
// predicts and does not need it.
//
// The same table, spec and seed give the same model bytes for any number of threads.
#pragma once

#include <cstdint>
#include <functional>

#include "learned/gbt_model.h"
#include "learned/parameter_table.h"

namespace tilecast::learned {

// kLogTime: squared error of the target. kHuber: the same up to GbtSpec::linear_above, linear
// beyond (Huber, 1964), so that few bad rows do not decide. kQuantile: pinball loss (Koenker and
// Bassett, 1978), minimal at the quantile GbtSpec::quantile of the target. kPairwise: pairwise
// ranking within groups (RankNet's loss; Burges et al., ICML 2005), lower score = lower target.
// kAllPairs: predictions of a pair should differ like its targets. Gradients:
// xgboost/gbt_objective.h.
enum class GbtObjective { kLogTime, kHuber, kQuantile, kPairwise, kAllPairs };
inline constexpr std::string_view kGbtObjectives[] = {"log_time", "huber", "quantile", "pairwise",
                                                      "all_pairs"};
[[nodiscard]] constexpr bool ranks(GbtObjective objective) {
  return objective >= GbtObjective::kPairwise;
}

struct GbtSpec {
  GbtObjective objective = GbtObjective::kLogTime;
  // Weight of the ranking loss; the remainder is squared error, so predictions are times below 1.
  double rank_weight = 1;
  double linear_above = 0.02;  // error of the target
  double quantile = 0.1;
  int trees = 600;  // maximum
  int depth = 6;
  double learning_rate = 0.05;
  double subsample = 0.8;      // of rows, per tree
  double column_sample = 0.8;  // of columns, per tree
  double min_child_weight = 1;
  double lambda = 1;        // L2 on leaf values
  int early_stopping = 50;  // rounds without improvement in validation; 0: never stop
  std::uint64_t seed = 1;
};
[[nodiscard]] constexpr bool ranks_only(const GbtSpec& spec) {
  return ranks(spec.objective) && spec.rank_weight == 1;
}
// Name, range and meaning of each parameter, for YAML files, searches, cards and --help.
[[nodiscard]] const ParameterTable<GbtSpec>& gbt_parameters();

struct GbtTable {
  std::size_t columns = 0;
  std::vector<float> values;   // rows x columns, NaN = missing
  std::vector<float> targets;  // per row: log of seconds
  // Per row: the starting value of the trees (XGBoost's base margin), so that they learn the rest
  // of the target with every objective; predictions exclude it. Empty: 0.
  std::vector<float> margins;
  std::vector<std::uint32_t> groups;  // per row: kernel; equal values are adjacent
  // Per row, >= 0, scaled to a mean of 1 (when ranking, a group has the mean weight of its rows);
  // or empty.
  std::vector<float> weights;

  [[nodiscard]] std::size_t rows() const { return targets.size(); }
};

struct GbtRound {
  int round = 0;
  // RMSE of the target; mean Huber or pinball loss; or 1 - share of ordered pairs (ties count half;
  // mean over groups, weighted by rows), combined with RMSE by GbtSpec::rank_weight.
  double train = 0, validation = 0;
};
struct GbtHooks {
  std::function<bool(const GbtRound&)> round = {};  // false: stop training
  int threads = 1;
};

// `validation` may be empty: then all trees are kept, else the trees up to its best round. Throws
// Error if there are no rows, a value is not finite (features: infinite), or there is nothing to
// rank.
[[nodiscard]] GbtModel train_gbt(const GbtTable& train, const GbtTable& validation,
                                 const GbtSpec& spec, const GbtHooks& hooks = {});

[[nodiscard]] std::string xgboost_version();  // "1.7.4"

}  // namespace tilecast::learned

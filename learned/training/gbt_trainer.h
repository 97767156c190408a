// Trains boosted trees by XGBoost, a module that is loaded on first use; learned/gbt_model.h, which
// only predicts, does without.
//
// The same table, spec and seed give the same model bytes, whatever the number of threads.
#pragma once

#include <cstdint>
#include <functional>

#include "learned/gbt_model.h"
#include "learned/parameter_table.h"

namespace tilecast::learned {

// kLogTime: squared error on the target. kQuantile: pinball loss (Koenker and Bassett, 1978), whose
// least is at the quantile GbtSpec::quantile of the target. kPairwise: pairwise ranking within
// groups (RankNet's loss; Burges et al., ICML 2005), lower score = lower target. kAllPairs: the
// higher target of a pair is to be predicted higher by as much. Gradients:
// xgboost/gbt_objective.h.
enum class GbtObjective { kLogTime, kQuantile, kPairwise, kAllPairs };
inline constexpr std::string_view kGbtObjectives[] = {"log_time", "quantile", "pairwise",
                                                      "all_pairs"};
[[nodiscard]] constexpr bool ranks(GbtObjective objective) {
  return objective >= GbtObjective::kPairwise;
}

struct GbtSpec {
  GbtObjective objective = GbtObjective::kLogTime;
  // Ranking: the rest of the loss is squared error, so that below 1 predictions are times.
  double rank_weight = 1;
  double quantile = 0.1;
  int trees = 600;  // at most
  int depth = 6;
  double learning_rate = 0.05;
  double subsample = 0.8;      // of rows, per tree
  double column_sample = 0.8;  // of columns, per tree
  double min_child_weight = 1;
  double lambda = 1;        // L2 on leaf values
  int early_stopping = 50;  // rounds without a better validation score; 0: never
  std::uint64_t seed = 1;
};
[[nodiscard]] constexpr bool ranks_only(const GbtSpec& spec) {
  return ranks(spec.objective) && spec.rank_weight == 1;
}
// Name, range and meaning of each parameter: what YAML files, searches, cards and --help use.
[[nodiscard]] const ParameterTable<GbtSpec>& gbt_parameters();

struct GbtTable {
  std::size_t columns = 0;
  std::vector<float> values;   // rows x columns, NaN = missing
  std::vector<float> targets;  // per row: log of seconds
  // Per row: what the trees start from (XGBoost's base margin), so that they learn the rest of the
  // target under every objective; predictions are without it. Or empty: 0.
  std::vector<float> margins;
  std::vector<std::uint32_t> groups;  // per row: kernel; equal ones stand together
  // Per row (when ranking a group weighs the mean of its rows'), at least 0, scaled to a mean of 1;
  // or empty.
  std::vector<float> weights;

  [[nodiscard]] std::size_t rows() const { return targets.size(); }
};

struct GbtRound {
  int round = 0;
  // RMSE of the target; mean pinball loss; or 1 - share of pairs in order (ties half; mean over
  // groups by their rows), with RMSE by GbtSpec::rank_weight.
  double train = 0, validation = 0;
};
struct GbtHooks {
  std::function<bool(const GbtRound&)> round = {};  // false: stop here
  int threads = 1;
};

// `validation` may be empty: all trees are kept then, else those up to its best round. Throws Error
// when there are no rows, a value is not finite (features: infinite), or nothing is to be ranked.
// `start`: a model of as many columns whose trees the new ones are added to, up to `trees` of them;
// all of it is kept, and nothing new when no round is better than it.
[[nodiscard]] GbtModel train_gbt(const GbtTable& train, const GbtTable& validation,
                                 const GbtSpec& spec, const GbtHooks& hooks = {},
                                 const GbtModel* start = nullptr);
// The trees of `model` with the splits they have and new values in their leaves, boosted on these
// rows one tree after the other from 0; a leaf that none of them reaches becomes 0. Throws as
// train_gbt().
[[nodiscard]] GbtModel refit_leaves(const GbtModel& model, const GbtTable& train,
                                    const GbtSpec& spec, int threads = 1);

[[nodiscard]] std::string xgboost_version();  // "1.7.4"

}  // namespace tilecast::learned

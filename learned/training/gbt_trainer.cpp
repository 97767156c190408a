#include "learned/training/gbt_trainer.h"

#include "base/plugin.h"
#include "learned/training/gbt_module_abi.h"

namespace tilecast::learned {
namespace {

constexpr base::Plugin kXgboost = {"xgboost", "the module of XGBoost", kGbtModuleAbi};

const GbtModule& gbt_module() {
  return *static_cast<const GbtModule*>(base::load_plugin(kXgboost));
}

}  // namespace

const ParameterTable<GbtSpec>& gbt_parameters() {
  static const ParameterTable<GbtSpec> table = [] {
    ParameterTable<GbtSpec> t;
    t.choice("objective", &GbtSpec::objective, kGbtObjectives,
             "squared error of log time, Huber's loss, a quantile, or order within a kernel");
    t.number("rank_weight", &GbtSpec::rank_weight, 0, 1,
             "pairwise, all_pairs: share of the loss; the rest is squared error of log time");
    t.number("linear_above", &GbtSpec::linear_above, 1e-6, 1e6,
             "huber: errors of log time above it count linearly");
    t.number("quantile", &GbtSpec::quantile, 0.01, 0.99, "the one that 'quantile' predicts");
    t.number("trees", &GbtSpec::trees, 1, 5000, "most trees");
    t.number("depth", &GbtSpec::depth, 1, 14, "splits from the root to a leaf, at most");
    t.number("learning_rate", &GbtSpec::learning_rate, 1e-4, 1, "share of a tree that is added");
    t.number("subsample", &GbtSpec::subsample, 0.01, 1, "share of the rows a tree sees");
    t.number("column_sample", &GbtSpec::column_sample, 0.01, 1, "share of the columns a tree sees");
    t.number("min_child_weight", &GbtSpec::min_child_weight, 0, 1e6,
             "least weight of rows in a leaf (second derivative of the loss)");
    t.number("lambda", &GbtSpec::lambda, 0, 1e6, "L2 penalty on the values of leaves");
    t.number("early_stopping", &GbtSpec::early_stopping, 0, 5000,
             "rounds without a better validation score before training stops; 0: never");
    return t;
  }();
  return table;
}

GbtModel train_gbt(const GbtTable& train, const GbtTable& validation, const GbtSpec& spec,
                   const GbtHooks& hooks) {
  return gbt_module().train(train, validation, spec, hooks);
}

std::string xgboost_version() {
  return gbt_module().version();
}

}  // namespace tilecast::learned

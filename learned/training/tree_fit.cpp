#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "learned/training/fit.h"

namespace tilecast::learned {
namespace {

class TreeFitter final : public Fitter {
 public:
  TreeFitter(const LearnerSpec& spec, const Examples& examples, const TrainValidation& split,
             int threads, std::span<const std::size_t> labelled)
      : spec_(spec),
        selection_(with_vocabulary(spec, examples, joined(labelled, split.train))),
        features_(selection_),
        target_(target_of(spec, examples, split, labelled)) {
    const Standardisation of_labels =
        is_residual() && !labelled.empty() ? standardisation_of(examples, labelled) : target_;
    labelled_ = table_of(examples, labelled, of_labels, threads);
    train_ = table_of(examples, split.train, target_, threads);
    validation_ = table_of(examples, split.validation, target_, threads);
    if (!is_residual() || !spec.ranks()) return;
    start_from_physics(examples, split.train, train_);
    start_from_physics(examples, split.validation, validation_);
  }

  [[nodiscard]] FitResult fit(const LearnerSpec& spec, const FitHooks& hooks) const override {
    double best = std::numeric_limits<double>::infinity();
    GbtSpec gbt = spec.gbt;
    gbt.seed = spec.seed;
    std::optional<GbtModel> start = of_labels(gbt, hooks.threads);
    const int before = start ? start->trees() : 0;
    if (spec.pretrain.trees == 0) gbt.trees -= before;
    if (start && is_residual()) start = refit_leaves(*start, train_, gbt, hooks.threads);
    const auto report = [&](const GbtRound& round) {
      if (validation_.rows() > 0) best = std::min(best, round.validation);
      if (hooks.step) hooks.step({before + round.round, round.train, round.validation});
      return true;
    };
    GbtModel model =
        train_gbt(train_, validation_, gbt, {.round = report, .threads = hooks.threads},
                  start ? &*start : nullptr);
    GbtPredictorParts parts{.features = selection_,
                            .model = std::move(model),
                            .target = target_,
                            .ranks_only = spec.ranks_only()};
    return {make_predictor(std::move(parts)), best};
  }

 private:
  [[nodiscard]] bool is_residual() const { return spec_.target.residual; }

  static FeatureSelection with_vocabulary(const LearnerSpec& spec, const Examples& examples,
                                          std::span<const std::size_t> rows) {
    FeatureSelection selection = spec.features;
    selection.vocabulary = vocabulary_of(spec, examples, rows);
    return selection;
  }

  // Labels and measured times share a scale; ranks have none.
  static Standardisation target_of(const LearnerSpec& spec, const Examples& examples,
                                   const TrainValidation& split,
                                   std::span<const std::size_t> labelled) {
    if (spec.ranks_only()) return {};
    if (spec.target.residual) return standardisation_of(examples, split.train);
    return standardisation_of(examples, joined(labelled, split.train));
  }

  // The trees trained on the labels, if there are any.
  [[nodiscard]] std::optional<GbtModel> of_labels(GbtSpec spec, int threads) const {
    spec.trees = spec_.pretrain.trees > 0 ? spec_.pretrain.trees : spec.trees / 2;
    if (labelled_.rows() == 0 || spec.trees == 0) return std::nullopt;
    return train_gbt(labelled_, {}, spec, {.threads = threads});
  }

  // Starts trees from analytical times; turns targets back into times, whose order rankings learn.
  void start_from_physics(const Examples& examples, std::span<const std::size_t> rows,
                          GbtTable& table) const {
    for (const std::size_t row : by_kernel(examples, rows)) {
      const double log_time = std::log(examples.priors[row]->time.value);
      table.margins.push_back(static_cast<float>(log_time / target_.deviation));
      table.targets[table.margins.size() - 1] += table.margins.back();
    }
  }

  [[nodiscard]] GbtTable table_of(const Examples& examples, std::span<const std::size_t> rows,
                                  const Standardisation& target, int threads) const {
    const std::vector<std::size_t> order = by_kernel(examples, rows);
    GbtTable table{.columns = features_.width(),
                   .values = feature_rows(features_, examples, order, threads),
                   .targets = standard_targets(examples, order, target),
                   .margins = {},
                   .groups = {},
                   .weights = row_weights(examples, order)};
    for (const std::size_t row : order) table.groups.push_back(examples.rows[row].kernel);
    return table;
  }

  LearnerSpec spec_;
  FeatureSelection selection_;
  TableFeatures features_;
  Standardisation target_;
  GbtTable labelled_, train_, validation_;
};

}  // namespace

std::unique_ptr<Fitter> make_tree_fitter(const LearnerSpec& spec, const Examples& examples,
                                         const TrainValidation& split, int threads,
                                         std::span<const std::size_t> labelled) {
  return std::make_unique<TreeFitter>(spec, examples, split, threads, labelled);
}

}  // namespace tilecast::learned

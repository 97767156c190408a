#include <algorithm>
#include <limits>
#include <optional>

#include "learned/training/fit.h"

namespace tilecast::learned {
namespace {

class TreeFitter final : public Fitter {
 public:
  TreeFitter(const LearnerSpec& spec, const Examples& examples, const TrainValidation& split,
             int threads, std::span<const std::size_t> labelled)
      : target_(standardisation_of(examples, joined(labelled, split.train))) {
    const TableFeatures features(spec.features);
    labelled_ = table_of(features, examples, labelled, threads);
    train_ = table_of(features, examples, split.train, threads);
    validation_ = table_of(features, examples, split.validation, threads);
  }

  [[nodiscard]] FitResult fit(const LearnerSpec& spec, const FitHooks& hooks) const override {
    double best = std::numeric_limits<double>::infinity();
    GbtSpec gbt = spec.gbt;
    gbt.seed = spec.seed;
    const std::optional<GbtModel> start = of_labels(gbt, hooks.threads);
    const int before = start ? start->trees() : 0;
    gbt.trees -= before;
    const auto report = [&](const GbtRound& round) {
      if (validation_.rows() > 0) best = std::min(best, round.validation);
      if (hooks.step) hooks.step({before + round.round, round.train, round.validation});
      return true;
    };
    GbtModel model =
        train_gbt(train_, validation_, gbt, {.round = report, .threads = hooks.threads},
                  start ? &*start : nullptr);
    GbtPredictorParts parts{.features = spec.features,
                            .model = std::move(model),
                            .target = spec.ranks_only() ? Standardisation{} : target_,
                            .ranks_only = spec.ranks_only()};
    return {make_predictor(std::move(parts)), best};
  }

 private:
  // Half of the trees, where there are labels.
  [[nodiscard]] std::optional<GbtModel> of_labels(GbtSpec spec, int threads) const {
    spec.trees /= 2;
    if (labelled_.rows() == 0 || spec.trees == 0) return std::nullopt;
    return train_gbt(labelled_, {}, spec, {.threads = threads});
  }

  [[nodiscard]] GbtTable table_of(const TableFeatures& features, const Examples& examples,
                                  std::span<const std::size_t> rows, int threads) const {
    const std::vector<std::size_t> order = by_kernel(examples, rows);
    GbtTable table{.columns = features.width(),
                   .values = feature_rows(features, examples, order, threads),
                   .targets = standard_targets(examples, order, target_),
                   .groups = {},
                   .weights = row_weights(examples, order)};
    for (const std::size_t row : order) table.groups.push_back(examples.rows[row].kernel);
    return table;
  }

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

#include <algorithm>
#include <limits>

#include "learned/training/fit.h"

namespace tilecast::learned {
namespace {

class TreeFitter final : public Fitter {
 public:
  TreeFitter(const LearnerSpec& spec, const Examples& examples, const TrainValidation& split,
             int threads)
      : target_(standardisation_of(examples, split.train)) {
    const TableFeatures features(spec.features);
    train_ = table_of(features, examples, split.train, threads);
    validation_ = table_of(features, examples, split.validation, threads);
  }

  [[nodiscard]] FitResult fit(const LearnerSpec& spec, const FitHooks& hooks) const override {
    double best = std::numeric_limits<double>::infinity();
    const GbtHooks told{.round =
                            [&](const GbtRound& round) {
                              if (validation_.rows() > 0) best = std::min(best, round.validation);
                              if (hooks.step) {
                                hooks.step({round.round, round.train, round.validation});
                              }
                              return true;
                            },
                        .threads = hooks.threads};
    GbtSpec gbt = spec.gbt;
    gbt.seed = spec.seed;
    GbtModel model = train_gbt(train_, validation_, gbt, told);
    GbtPredictorParts parts{.features = spec.features,
                            .model = std::move(model),
                            .target = spec.ranks_only() ? Standardisation{} : target_,
                            .ranks_only = spec.ranks_only()};
    return {make_predictor(std::move(parts)), best};
  }

 private:
  [[nodiscard]] GbtTable table_of(const TableFeatures& features, const Examples& examples,
                                  std::span<const std::size_t> rows, int threads) const {
    const std::vector<std::size_t> order = by_kernel(examples, rows);
    GbtTable table{.columns = features.width(),
                   .values = feature_rows(features, examples, order, threads),
                   .targets = standard_targets(examples, order, target_),
                   .groups = {},
                   .weights = {},
                   .base = {}};
    for (const std::size_t row : order) table.groups.push_back(examples.rows[row].kernel);
    return table;
  }

  Standardisation target_;
  GbtTable train_, validation_;
};

}  // namespace

std::unique_ptr<Fitter> make_tree_fitter(const LearnerSpec& spec, const Examples& examples,
                                         const TrainValidation& split, int threads) {
  return std::make_unique<TreeFitter>(spec, examples, split, threads);
}

}  // namespace tilecast::learned

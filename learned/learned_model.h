// A trained model as a CostModel.
//
//   const analytical::AnalyticalModel physics;
//   LearnedModel model(load_model("models/host_sage"), physics);
//   auto answers = model.estimate(queries, device);
//
// The estimate's time is the prediction, but at least the speed of light. Its bounds are those of
// the roofline, marked by a flag, since a learned time has no parts. Kernels of op classes that
// were not in the training set give nullopt. Throws Error for a model that only ranks or predicts
// another quantity than time.
#pragma once

#include "analytical/tile_ranker.h"
#include "learned/model_dir.h"

namespace tilecast::learned {

class LearnedModel final : public analytical::CostModel {
 public:
  // `prior`: the analytical model for features and residuals; must outlive this.
  LearnedModel(LoadedModel model, const analytical::CostModel& prior);
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override;
  [[nodiscard]] const ModelCard& card() const { return model_.card; }

 private:
  LoadedModel model_;
  const analytical::CostModel& prior_;
};

// A trained model as a TileRanker, including models that were trained to rank and predict no times.
//
//   const analytical::AnalyticalModel physics;
//   RankModel ranks(load_model("models/tiles_rank"), physics);
//   ranks.scores(kernel, tiles, device);
//
// Kernels of op classes that were not in the training set get no scores.

class RankModel final : public analytical::TileRanker {
 public:
  // `prior`: as for LearnedModel; must outlive this.
  RankModel(LoadedModel model, const analytical::CostModel& prior);
  [[nodiscard]] std::vector<std::optional<double>> scores(
      const ir::Kernel& kernel, std::span<const analytical::TileConfig> tiles,
      const hwdesc::Device& device) const override;
  [[nodiscard]] const ModelCard& card() const { return model_.card; }

 private:
  LoadedModel model_;
  const analytical::CostModel& prior_;
};

}  // namespace tilecast::learned

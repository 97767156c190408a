// A trained model as a TileRanker, including models that were trained to rank and predict no times.
//
//   const analytical::AnalyticalModel physics;
//   RankModel ranks(load_model("models/tiles_rank"), physics);
//   ranks.scores(kernel, tiles, device);
//
// Kernels of op classes that were not in the training set get no scores.
#pragma once

#include "analytical/tile_ranker.h"
#include "learned/model_dir.h"

namespace tilecast::learned {

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

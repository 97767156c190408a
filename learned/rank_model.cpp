#include "learned/rank_model.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "measured/samples.h"

namespace tilecast::learned {

RankModel::RankModel(LoadedModel model, const analytical::CostModel& prior)
    : model_(std::move(model)), prior_(prior) {
  TC_CHECK(model_.predictor != nullptr, "a model without a predictor");
}

std::vector<std::optional<double>> RankModel::scores(const ir::Kernel& kernel,
                                                     std::span<const analytical::TileConfig> tiles,
                                                     const hwdesc::Device& device) const {
  std::vector<std::optional<double>> scores(tiles.size());
  const std::vector<std::string>& known = model_.card.op_classes;
  if (std::ranges::find(known, measured::op_class(kernel)) == known.end()) return scores;
  std::vector<analytical::KernelQuery> queries;
  for (const analytical::TileConfig& tile : tiles) queries.push_back({kernel, &tile});
  std::vector<double> answers(tiles.size());
  const Predictor& predictor = *model_.predictor;
  predictor.predict(queries, device, priors_for(predictor, prior_, queries, device), answers);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (std::isfinite(answers[i])) scores[i] = answers[i];
  }
  return scores;
}

}  // namespace tilecast::learned

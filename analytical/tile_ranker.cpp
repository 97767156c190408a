#include "analytical/tile_ranker.h"

#include <algorithm>
#include <cmath>

#include "analytical/analytical_model.h"

namespace tilecast::analytical {

std::vector<std::optional<double>> PhysicsRanker::scores(const ir::Kernel& kernel,
                                                         std::span<const TileConfig> tiles,
                                                         const hwdesc::Device& device) const {
  const KernelAnalysis analysis(kernel, device);
  std::vector<std::optional<double>> scores(tiles.size());
  if (!analysis.tileable()) return scores;
  std::ranges::transform(analysis.times_s(tiles), scores.begin(), [](double seconds) {
    return std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
  });
  return scores;
}

std::vector<std::optional<double>> TimeRanker::scores(const ir::Kernel& kernel,
                                                      std::span<const TileConfig> tiles,
                                                      const hwdesc::Device& device) const {
  std::vector<KernelQuery> queries;
  for (const TileConfig& tile : tiles) queries.push_back({kernel, &tile});
  std::vector<std::optional<double>> scores;
  for (const std::optional<Estimate>& answer : model_.estimate(queries, device)) {
    scores.push_back(answer ? std::optional(answer->time.value) : std::nullopt);
  }
  return scores;
}

std::unique_ptr<const TileRanker> make_time_ranker(const CostModel* model) {
  if (model == nullptr) return std::make_unique<PhysicsRanker>();
  return std::make_unique<TimeRanker>(*model);
}

}  // namespace tilecast::analytical

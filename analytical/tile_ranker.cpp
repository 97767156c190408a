#include "analytical/tile_ranker.h"

#include <cmath>

#include "analytical/analytical_model.h"

namespace tilecast::analytical {

std::vector<std::optional<double>> PhysicsRanker::scores(const ir::Kernel& kernel,
                                                         std::span<const TileConfig> tiles,
                                                         const hwdesc::Device& device) const {
  const KernelAnalysis analysis(kernel, device);
  std::vector<std::optional<double>> scores(tiles.size());
  if (!analysis.tileable()) return scores;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const double seconds = analysis.time(tiles[i]).value;
    if (std::isfinite(seconds)) scores[i] = seconds;
  }
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

}  // namespace tilecast::analytical

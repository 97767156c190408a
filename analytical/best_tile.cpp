#include "analytical/best_tile.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "analytical/cache_model.h"
#include "analytical/scratchpad_model.h"
#include "analytical/simt_model.h"

namespace tilecast::analytical {
namespace {

constexpr std::size_t kCandidates = 16384;
constexpr std::size_t kTimedTogether = 16;  // tiles per batch

// Candidates are sorted by iterations, and no iteration is shorter than the model's minimum, so the
// search stops when that minimum alone exceeds the best time.
std::optional<TileConfig> fastest(const TileModel& model, std::span<const TileConfig> candidates) {
  const double least_s = model.least_iteration_s();
  double best = std::numeric_limits<double>::infinity();
  const TileConfig* chosen = nullptr;
  const auto hopeless = [&](const TileConfig& tile) {
    return model.iterations(tile) * least_s >= best;
  };
  std::array<double, kTimedTogether> times;
  while (!candidates.empty() && !hopeless(candidates.front())) {
    const auto together = candidates.first(std::min(candidates.size(), kTimedTogether));
    candidates = candidates.subspan(together.size());
    model.times_s(together, times);
    for (std::size_t i = 0; i < together.size() && !hopeless(together[i]); ++i) {
      if (times[i] >= best) continue;
      best = times[i];
      chosen = &together[i];
    }
  }
  return chosen == nullptr ? std::nullopt : std::optional(*chosen);
}

}  // namespace

std::unique_ptr<const TileModel> tile_model(const ir::Kernel& kernel,
                                            const hwdesc::Device& device) {
  switch (device.execution) {
    case hwdesc::Execution::kScratchpad:
      return std::make_unique<ScratchpadModel>(kernel, device);
    case hwdesc::Execution::kSimt:
      return std::make_unique<SimtModel>(kernel, device);
    case hwdesc::Execution::kCache:
      return std::make_unique<CacheModel>(kernel, device);
  }
  return nullptr;
}

ChosenTile best_tile(const TileModel& model) {
  const std::vector<TileConfig> candidates = model.candidates(kCandidates);
  if (const auto tile = fastest(model, candidates)) return {*tile};
  return {.tile = *std::ranges::min_element(
              candidates, {}, [&](const TileConfig& tile) { return model.scratchpad_bytes(tile); }),
          .fits = false};
}

}  // namespace tilecast::analytical

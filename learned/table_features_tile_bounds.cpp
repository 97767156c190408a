#include <algorithm>

#include "base/statistics.h"
#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

constexpr std::size_t kTilesTried = 512;  // number of tiles estimated
constexpr std::size_t kTilesExplained = 64;
constexpr std::array<double, 3> kQuantileShares = {0.1, 0.5, 0.9};

std::array<double, 3> quantiles(const std::vector<double>& values) {
  std::array<double, 3> result{};
  for (std::size_t q = 0; q < result.size(); ++q) {
    result[q] = values.empty() ? kMissing : base::quantile(values, kQuantileShares[q]);
  }
  return result;
}

}  // namespace

void TileBoundsScan::of(const ir::Kernel& kernel, const hwdesc::Device& device) {
  const analytical::KernelAnalysis analysis(kernel, device);
  const std::vector<analytical::TileConfig> tiles = analysis.tiles(kTilesTried);
  times_.clear();
  for (const analytical::TileConfig& tile : tiles) times_.push_back(analysis.time(tile).value);
  std::ranges::sort(times_);
  time_ = quantiles(times_);
  const std::size_t step = (tiles.size() + kTilesExplained - 1) / kTilesExplained;
  std::array<std::vector<double>, analytical::kBoundCount> by_bound;
  for (std::size_t i = 0; i < tiles.size(); i += step) {
    const auto answer = analysis.estimate(tiles[i]);
    const auto* estimate = std::get_if<analytical::Estimate>(&answer);
    for (std::size_t b = 0; estimate != nullptr && b < by_bound.size(); ++b) {
      by_bound[b].push_back(ratio(estimate->bounds[b].value, times_.front()));
    }
  }
  for (std::size_t b = 0; b < by_bound.size(); ++b) {
    const std::array<double, 3> busy = quantiles(by_bound[b]);
    for (std::size_t q = 0; q < busy.size(); ++q) busy_[q][b] = busy[q];
  }
}

void TileBoundsScan::columns(const std::optional<analytical::Estimate>& prior, Columns& to) const {
  const bool any = !times_.empty();
  const auto all = static_cast<double>(times_.size());
  const double least = any ? times_.front() : kMissing;
  const double time = prior && any ? prior->time.value : kMissing;
  const auto faster = std::ranges::lower_bound(times_, time) - times_.begin();
  to.value({"tiles", "Tiles that can run, of those tried."}, all);
  to.value({"least", "Least analytical time of the kernel's tiles.", "s"}, least);
  to.value({"over_least", "prior.time over tile_bounds.least."}, ratio(time, least));
  to.value({"faster", "Share of the tiles whose analytical time is less than prior.time."},
           time > 0 ? static_cast<double>(faster) / all : kMissing);
  to.value({"time_p10", "A tenth of the tiles take less, over tile_bounds.least."},
           ratio(time_[0], least));
  to.value({"time_p50", "Half of the tiles take less, over tile_bounds.least."},
           ratio(time_[1], least));
  to.value({"time_p90", "Nine tenths of the tiles take less, over tile_bounds.least."},
           ratio(time_[2], least));
  to.parts({"busy_p10", "A tenth of the tiles keep this busy for less, over tile_bounds.least"},
           busy_[0], bound_part);
  to.parts({"busy_p50", "Half of the tiles keep this busy for less, over tile_bounds.least"},
           busy_[1], bound_part);
  to.parts({"busy_p90", "Nine tenths of the tiles keep this busy for less, over tile_bounds.least"},
           busy_[2], bound_part);
}

}  // namespace tilecast::learned

#include "analytical/tile_model.h"

#include <algorithm>

#include "analytical/product_type.h"
#include "analytical/tile_space.h"

namespace tilecast::analytical {

TileModel::TileModel(const ir::Kernel& kernel, const hwdesc::Device& device)
    : device_(&device),
      space_(make_iteration_space(kernel, device.native_tile)),
      footprints_(kernel, space_),
      cycle_s_(1 / device.clock.value) {
  if (!space_.matrix) return;
  std::string note = product_type(kernel, kernel.op(space_.matrix->op), device).note;
  if (!note.empty()) space_.flags.push_back(std::move(note));
}

GroupExtents TileModel::group_extents() const {
  return GroupExtents(footprints_.groups().size(), boost::container::default_init);
}

std::vector<TileConfig> TileModel::candidates(std::size_t limit) const {
  return candidate_tiles(space_, limit);
}

void TileModel::times_s(std::span<const TileConfig> tiles, std::span<double> times) const {
  std::ranges::transform(tiles, times.begin(),
                         [&](const TileConfig& tile) { return time_s(tile); });
}

Estimate TileModel::estimate(const TileConfig& tile) const {
  Estimate estimate = explained([&](BoundMask removed) { return account(tile, removed); });
  estimate.tile = tile;
  estimate.scratchpad_used = Bytes{scratchpad_bytes(tile)};
  estimate.flags = space_.flags;
  return estimate;
}

double TileModel::iterations(const TileConfig& tile) const {
  return tile_count(space_, tile_extents(space_, tile));
}

}  // namespace tilecast::analytical

// Chooses the tile that a compiler is assumed to use for a kernel.
#pragma once

#include <memory>

#include "analytical/tile_model.h"

namespace tilecast::analytical {

// The tile model for the device's kind of execution. `kernel` and `device` must outlive it.
[[nodiscard]] std::unique_ptr<const TileModel> tile_model(const ir::Kernel& kernel,
                                                          const hwdesc::Device& device);

struct ChosenTile {
  TileConfig tile;
  bool fits = true;  // false: no candidate fits; this one needs the least memory
};

// The fastest candidate that fits.
[[nodiscard]] ChosenTile best_tile(const TileModel& model);

}  // namespace tilecast::analytical

// Which tile a compiler is taken to choose for a kernel, and what it takes then.
#pragma once

#include <memory>

#include "analytical/tile_model.h"

namespace tilecast::analytical {

// The model of the way in which the device runs kernels that have tiles. Both must outlive it.
[[nodiscard]] std::unique_ptr<const TileModel> tile_model(const ir::Kernel& kernel,
                                                          const hwdesc::Device& device);

struct ChosenTile {
  TileConfig tile;
  bool fits = true;  // false: no tile does, and this one spills least
};

// The fastest of the candidates that fit.
[[nodiscard]] ChosenTile best_tile(const TileModel& model);

}  // namespace tilecast::analytical

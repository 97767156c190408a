// The arrays a kernel reads from and writes to memory, each with the loops that move its tile.
#pragma once

#include <vector>

#include "analytical/footprint.h"
#include "analytical/transfer.h"

namespace tilecast::analytical {

struct MemoryStream {
  StoredArray array;
  int group = 0;
  std::uint32_t loops = 0;  // bit per loop whose step moves the tile
  ir::OpId op;
};

// Parameters that are read: not those that are only updated in place.
[[nodiscard]] std::vector<MemoryStream> input_streams(const ir::Kernel& kernel,
                                                      const Footprints& footprints,
                                                      double granule_bytes);
// Results; of a dynamic-update-slice only the update is written.
[[nodiscard]] std::vector<MemoryStream> output_streams(const ir::Kernel& kernel,
                                                       const Footprints& footprints,
                                                       double granule_bytes);

}  // namespace tilecast::analytical

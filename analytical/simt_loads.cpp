#include "analytical/simt_loads.h"

#include <algorithm>

namespace tilecast::analytical {

double loaded_bytes(const IterationSpace& space, const LoopSizes& extents, const StoredArray& array,
                    const Extents& region, bool gathered) {
  const double bytes = region_bytes(array, region);
  if (!gathered) return bytes;
  const MatrixLoops& loops = *space.matrix;
  return std::min(bytes, product(extents, loops.rows) * product(extents, loops.positions) *
                             product(extents, loops.contraction) * array.element_bytes);
}

double column_tiles(const IterationSpace& space, const LoopSizes& extents) {
  double tiles = 1;
  for (const int l : space.matrix->columns) {
    tiles *= static_cast<double>(space.loops[l].size) / static_cast<double>(extents[l]);
  }
  return tiles;
}

double blocks_of_group(const IterationSpace& space, const LoopSizes& extents, double wave_rows) {
  double tiles = 1, groups = 1;
  for (const int l : space.matrix->rows) {
    tiles *= space.loops[l].padded_tiles(extents[l]);
    groups += static_cast<double>(space.loops[l].revisits);
  }
  return std::clamp(tiles / groups, 1.0, std::max(wave_rows, 1.0));
}

}  // namespace tilecast::analytical

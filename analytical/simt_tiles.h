// Block tiles worth trying on machines that run thread blocks. Matrix kernels: powers of two from
// `least_side` (16) to 256 rows and columns, steps of 32 to 128 along the contraction (the range of
// CUTLASS and cuBLAS kernels). Others: any one loop cut on its own ladder, the rest from the
// outermost inwards. The set depends only on the loops.
#pragma once

#include "analytical/iteration_space.h"

namespace tilecast::analytical {

// At most `limit` distinct tiles, fewest blocks first; deterministic.
[[nodiscard]] std::vector<TileConfig> simt_candidate_tiles(const IterationSpace& space,
                                                           std::size_t limit,
                                                           double least_side = 16);

}  // namespace tilecast::analytical

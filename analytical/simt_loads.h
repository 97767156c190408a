// What blocks of products load of operands that are no plain matrices.
//
// windowed: data of a convolution whose rows several results and window positions read. Kernels for
// matrix units gather them: a step takes a row of channels for every result and position, not the
// pixels in between. Main memory is read once for each pass of all columns' blocks: neighbouring
// rows are found in the cache. by_group: the matrices of a ragged-dot; blocks of one group share
// one.
#pragma once

#include "analytical/iteration_space.h"
#include "analytical/simt_launch.h"
#include "analytical/transfer.h"

namespace tilecast::analytical {

// Bytes of a step, or of a block, of `region` of the array; no more than its rows if they are
// gathered.
[[nodiscard]] double loaded_bytes(const IterationSpace& space, const LoopSizes& extents,
                                  const StoredArray& array, const Extents& region, bool gathered);

// Passes of blocks over the rows, one for each tile of the columns.
[[nodiscard]] double column_tiles(const IterationSpace& space, const LoopSizes& extents);

// Blocks of a wave of `wave_rows` blocks, one above the other, whose rows are of the same group.
[[nodiscard]] double blocks_of_group(const IterationSpace& space, const LoopSizes& extents,
                                     double wave_rows);

}  // namespace tilecast::analytical

// The schedule of a convolution that a tile stands for: packed arrays, a block of sums in
// registers.
//
//   for the tiles of the output, in the tile's `order`:
//     sums[rows][columns][features of the tile] = 0
//     for blocks of input features, window rows, window columns, features of a block:
//       for rows, columns (written out), features of the tile (vectors):
//         sums += image.packed * weights.packed
//     output = sums
//
// `output` of the tile cuts batch, rows, columns and output features, `kernel` the input features.
// The image is packed as [batch][blocks of features][rows][columns][features of a block], with the
// window's padding around it; weights as [tiles of output features][blocks of input
// features][window] [input features of a block][output features of a tile]. `unroll` above 1: the
// taps of the window's last dimension go innermost of the sum, written out. `stages` above 1: the
// weights of a block are copied, and those of a later block prefetched. `direct`: arrays are read
// where they lie, which a padded window forbids.
//
// The space is that of TVM's template for convolutions on x86 (Liu et al., USENIX ATC 2019, section
// 3.1): tiles of input features, output features, columns, and where the window's taps go. Tiles
// that do not divide their dimension have no schedule.
#pragma once

#include "analytical/tile.h"
#include "ir/kernel.h"
#include "schedule/detect.h"
#include "schedule/tile_schedule.h"

namespace tilecast::schedule {

// Throws Error where the kernel is no plain convolution of two arrays in one group, or the tile is
// not one of its tiles. Thread-safe.
[[nodiscard]] TiledLoops convolution_loops(const ir::Kernel& kernel,
                                           const analytical::TileConfig& tile,
                                           const AsyncCopies& machine = {});

// The template's tiles of a convolution: input and output features by every divisor, columns by
// every divisor up to 64; windows of more than one column with their taps outside and inside,
// others with one and, where rows are even, two rows of the output at once. Empty for other
// kernels.
[[nodiscard]] std::vector<analytical::TileConfig> convolution_tiles(const ir::Kernel& kernel);

}  // namespace tilecast::schedule

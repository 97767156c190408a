// The schedule of a convolution with a given tile: packed arrays, a block of sums in registers.
//
//   for the tiles of the output, in the tile's `order`:
//     sums[rows][columns][features of the tile] = 0
//     for blocks of input features, window rows, window columns, features of a block:
//       for rows, columns (unrolled), features of the tile (vectors):
//         sums += image.packed * weights.packed
//     output = sums
//
// The tile's `output` cuts batch, rows, columns and output features, `kernel` the input features.
// Packed image: [batch][blocks of features][rows][columns][features of a block], with the window's
// padding around it. Packed weights: [tiles of output features][blocks of input features][window]
// [input features of a block][output features of a tile]. `unroll` above 1: the taps of the
// window's last dimension are innermost in the sum, unrolled. `stages` above 1: the weights of a
// block are copied, and those of a later block prefetched. `direct`: arrays are read in place,
// which a padded window forbids.
//
// The space is that of TVM's template for convolutions on x86 (Liu et al., USENIX ATC 2019, section
// 3.1): tiles of input features, output features, columns, and the position of the window's taps.
// Tiles that do not divide their dimension have no schedule.
#pragma once

#include "analytical/tile.h"
#include "ir/kernel.h"
#include "schedule/detect.h"
#include "schedule/tile_schedule.h"

namespace tilecast::schedule {

// Throws Error unless the kernel is a plain convolution of two arrays in one group and the tile is
// one of its tiles. Thread-safe.
[[nodiscard]] TiledLoops convolution_loops(const ir::Kernel& kernel,
                                           const analytical::TileConfig& tile,
                                           const AsyncCopies& machine = {});

// The template's tiles of a convolution: every divisor of input and output features, divisors of
// the columns up to 64. Windows of several columns: with their taps outside and inside. Others:
// with one output row, and with as many as the smallest divisor above 1 of their number. Empty for
// other kernels.
[[nodiscard]] std::vector<analytical::TileConfig> convolution_tiles(const ir::Kernel& kernel);

}  // namespace tilecast::schedule

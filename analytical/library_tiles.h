// Which thread blocks GPU libraries have for a product, and what such a block costs beside its
// multiply-adds. cuBLAS names its kernels after their block tiles (sgemm_32x32 ...,
// h16816gemm_64x64 ...) and has others for products with a vector.
//
// Names and grids of the kernels that cuBLAS and cuDNN picked are those of NeuSight's data: 118,000
// f32 products and 5,353 convolutions on five GPUs. Pure functions, thread-safe.
#pragma once

#include "analytical/product_type.h"
#include "analytical/tile_space.h"
#include "hwdesc/device.h"

namespace tilecast::analytical {

inline constexpr double kMaxSplits = 32;  // of a contraction, over blocks

struct LibraryTiles {
  BlockSides sides;
  double flat_rows = 1;  // of convolutions: images, rows and columns in one count
  double splits = kMaxSplits;
  double depth_step = 0;  // what the contraction is rounded up to; 0: whole steps of the tile
};

// Of the product that `space` has, computed in `type`.
[[nodiscard]] LibraryTiles library_tiles(const IterationSpace& space, const ProductType& type,
                                         const hwdesc::Device& device);

// Time of a block on vector lanes against one of 128 x 128, the largest of them, which
// MatrixUnit::efficiency describes. A thread of 16 x 16 reads rows / 16 and columns / 16 numbers of
// shared memory, four at a time, for rows / 16 x columns / 16 multiply-adds; a read takes two of
// their issue slots. Seen on 12,920 products of an A100 and a V100: 128x64 0.97 to 0.98 of the rate
// of 128x128, 128x32 0.86 to 0.88, 64x32 0.79 to 0.82, 32x32 0.72 to 0.74; here 0.95, 0.86, 0.82,
// 0.75.
[[nodiscard]] double operand_reads_on_lanes(double rows, double columns);

}  // namespace tilecast::analytical

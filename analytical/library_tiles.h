// The thread block sizes that GPU libraries offer for a product, and the cost of a block beyond its
// multiply-adds. cuBLAS names its kernels after their block tiles (sgemm_32x32 ...,
// h16816gemm_64x64 ...) and has separate ones for matrix-vector products.
//
// Derived from the names and grids of the kernels that cuBLAS and cuDNN picked in NeuSight's data:
// 118,000 f32 products and 5,353 convolutions on five GPUs. Pure functions, thread-safe.
#pragma once

#include "analytical/product_type.h"
#include "analytical/tile_space.h"
#include "hwdesc/device.h"

namespace tilecast::analytical {

inline constexpr double kMaxSplits = 32;  // blocks that may share a contraction

struct LibraryTiles {
  BlockSides sides;
  double flat_rows = 1;  // convolutions: images, rows and columns in one count
  double splits = kMaxSplits;
  double depth_step = 0;  // the contraction is rounded up to this; 0: whole steps of the tile
};

// Blocks for the matrix work of `space`, computed in `type`.
[[nodiscard]] LibraryTiles library_tiles(const IterationSpace& space, const ProductType& type,
                                         const hwdesc::Device& device);

// Time per multiply-add of a block on vector lanes, relative to a block of 128 x 128, the largest,
// which MatrixUnit::efficiency describes. A thread of 16 x 16 reads rows / 16 and columns / 16
// numbers of shared memory, four at a time, for rows / 16 x columns / 16 multiply-adds; a read
// takes two of their issue slots. Within 0.04 of the relative rates of 12,920 products on an A100
// and a V100.
[[nodiscard]] double operand_reads_on_lanes(double rows, double columns);

}  // namespace tilecast::analytical

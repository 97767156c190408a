// Thread blocks of the kernels that come with a GPU, for the matrix work of a kernel. Pure.
#pragma once

#include <limits>
#include <optional>

#include "analytical/iteration_space.h"
#include "analytical/product_type.h"
#include "analytical/tile_space.h"
#include "hwdesc/device.h"
#include "ir/compiler_notes.h"

namespace tilecast::analytical {

// The thread block sizes that GPU libraries offer for a product, and the cost of a block beyond its
// multiply-adds. cuBLAS names its kernels after their block tiles (sgemm_32x32 ...,
// h16816gemm_64x64 ...) and has separate ones for matrix-vector products.
struct LibraryTiles {
  BlockSides sides;
  double flat_rows = 1;  // convolutions: images, rows and columns in one count
  double splits = std::numeric_limits<double>::max();  // besides Library::splits
  double depth_step = 0;  // the contraction is rounded up to this; 0: whole steps of the tile
};

// Kernels that multiply on vector lanes, sgemm_128x128x8 and smaller: their largest side.
inline constexpr double kLargestLaneSide = 128;

// Blocks for the matrix work of `space`, computed in `type`; those that are `stated` are not split.
[[nodiscard]] LibraryTiles library_tiles(const IterationSpace& space, const ProductType& type,
                                         const hwdesc::Device& device,
                                         const std::optional<ir::GpuCode>& stated);

}  // namespace tilecast::analytical

#include "analytical/library_tiles.h"

namespace tilecast::analytical {
namespace {

constexpr double kLaneDepthStep = 8;  // of sgemm_128x128x8 and smaller

constexpr BlockSides at_least(double side, double most = kLargestSide) {
  return {.rows = {.least = side, .most = most}, .columns = {.least = side, .most = most}};
}

bool has_tensor_cores(const hwdesc::Device& device) {
  return device.matrix.rows > 1;  // not the lanes themselves
}

// Batched products on vector lanes are not split, and each kernel generation has its own blocks for
// them: 128 x 128 with asynchronous loads (ampere_sgemm), 64 x 128 without tensor cores
// (maxwell_sgemm), from 64 x 64 up in between (volta_sgemm).
LibraryTiles tiles_of_batches_on_lanes(const hwdesc::Device& device) {
  constexpr int kDoubleBuffering = 2;
  LibraryTiles tiles{
      .sides = at_least(64, kLargestLaneSide), .splits = 1, .depth_step = kLaneDepthStep};
  if (device.engines.back().stages > kDoubleBuffering) {
    tiles.sides = at_least(128, 128);
  } else if (!has_tensor_cores(device)) {
    tiles.sides = {.rows = {.least = 64, .most = 64}, .columns = {.least = 128, .most = 128}};
  }
  return tiles;
}

}  // namespace

LibraryTiles library_tiles(const IterationSpace& space, const ProductType& type,
                           const hwdesc::Device& device, const std::optional<ir::GpuCode>& stated) {
  const ir::DType dtype = type.on_unit() ? type.dtype : ir::DType::kF32;
  const double bytes = ir::storage_bytes(dtype);
  if (stated && stated->tile.size() == 2) {
    const auto only = [&](std::size_t i) {
      const auto side = static_cast<double>(stated->tile[i]);
      return BlockSide{.least = side, .most = side};
    };
    return {.sides = {.rows = only(0), .columns = only(1)}, .splits = 1};
  }
  if (space.matrix->groups > 1) return {};
  const bool on_lanes = !type.on_unit() || multiplies_on_lanes(device, ir::name(type.dtype));
  // cuDNN splits no convolution (grids of its kernels in profiles of ResNet-50 on an H100 and
  // H200).
  if (!on_lanes && whole_product(space, space.matrix->positions) > 1) {
    return {.sides = {.one_position = true}, .splits = 1};
  }
  if (whole_product(space, space.matrix->rows) == 1 ||
      whole_product(space, space.matrix->columns) == 1) {
    return {.sides = {.step = on_lanes ? 0 : device.library.side_step}};
  }
  // On lanes it has blocks of 128 results by 32, 64 or 128 features.
  const bool convolves = !space.matrix->positions.empty();
  if (convolves && on_lanes) return {.sides = at_least(32), .flat_rows = 128, .splits = 1};
  if (!on_lanes) {
    LibraryTiles tiles{.sides = at_least(bytes < 4 ? 64.0 : 32.0)};
    tiles.sides.step = device.library.side_step;
    return tiles;
  }
  if (whole_product(space, space.matrix->batch) > 1) return tiles_of_batches_on_lanes(device);
  LibraryTiles tiles{.sides = at_least(bytes < 4 ? 64.0 : 32.0, kLargestLaneSide),
                     .depth_step = kLaneDepthStep};
  // 64x64, 32x128 and 128x32 cover all 12,847 single products of two GPUs without tensor cores.
  if (!has_tensor_cores(device)) tiles.sides.most_results = 64.0 * 64;
  return tiles;
}

}  // namespace tilecast::analytical

#include "analytical/library_tiles.h"

#include "analytical/winograd.h"

namespace tilecast::analytical {
namespace {

// Kernels that multiply on vector lanes: sgemm_128x128x8 and smaller.
constexpr double kLaneDepthStep = 8;
constexpr double kLargestLaneSide = 128;

constexpr BlockSides at_least(double side, double most = kLargestSide) {
  return {.rows = {.least = side, .most = most}, .columns = {.least = side, .most = most}};
}

bool has_tensor_cores(const hwdesc::Device& device) {
  return device.matrix.rows > 1;  // not the lanes themselves
}

// Batched products on vector lanes are not split, and each kernel generation has its own blocks for
// them: 128 x 128 with asynchronous loads (ampere_sgemm), 64 x 128 without tensor cores
// (maxwell_sgemm), from 64 x 64 up in between (volta_sgemm). Matches the names and grids of more
// than 99 % of 87,623 batched products.
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
                           const hwdesc::Device& device) {
  const ir::DType dtype = type.on_unit() ? type.dtype : ir::DType::kF32;
  const double bytes = ir::storage_bytes(dtype);
  const bool convolves = !space.matrix->positions.empty();
  if (space.matrix->groups > 1) return {};
  // Two warp groups of 64 rows by 128 columns (CUTLASS's scaled_mm, DeepGEMM). Assumed not to split
  // the contraction, as measured products on two GPUs suggest, though some kernels do.
  if (bytes < 2 && ir::is_floating(dtype) && !convolves)
    return {.sides = at_least(128, 128), .splits = 1};
  if (whole_product(space, space.matrix->rows) == 1 ||
      whole_product(space, space.matrix->columns) == 1)
    return {};
  const bool on_lanes = !type.on_unit() || multiplies_on_lanes(device, ir::name(type.dtype));
  // For convolutions as products over window positions, cuDNN has blocks of 128 results by 32, 64
  // or 128 features, not split.
  if (convolves && !on_lanes) return {};
  if (convolves) return {.sides = at_least(32), .flat_rows = 128, .splits = 1};
  if (!on_lanes) return {.sides = at_least(bytes < 4 ? 64.0 : 32.0)};
  if (whole_product(space, space.matrix->batch) > 1) return tiles_of_batches_on_lanes(device);
  LibraryTiles tiles{.sides = at_least(bytes < 4 ? 64.0 : 32.0, kLargestLaneSide),
                     .depth_step = kLaneDepthStep};
  // 64x64, 32x128 and 128x32 cover all 12,847 single products of two GPUs without tensor cores.
  if (!has_tensor_cores(device)) tiles.sides.most_results = 64.0 * 64;
  return tiles;
}

double operand_reads_on_lanes(double rows, double columns) {
  constexpr double kReadSlots = 2, kThreadsOfASide = 16, kReadAtOnce = 4;
  const auto slots = [](double r, double c) {
    return 1 + kReadSlots * kThreadsOfASide / kReadAtOnce * (1 / r + 1 / c);
  };
  return slots(rows, columns) / slots(kLargestLaneSide, kLargestLaneSide);
}

}  // namespace tilecast::analytical

// Limiting cases of a convolution as loops, as formulas in the numbers of core_device(): 1 GHz, two
// pipes of 8 lanes with a latency of 4 cycles, 16 registers.
#include "analytical/loop_convolution.h"

#include <gtest/gtest.h>

#include "cache_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr double kCycle = 1e-9, kTaps = 9, kPipes = 2, kLatency = 4;
constexpr double kSide = 8, kInputFeatures = 16, kOutputFeatures = 48;
constexpr ConvolutionSizes kSizes{
    .batch = 1, .side = 8, .input_features = 16, .features = 48, .groups = 1};

PerBound parts_of(const ir::Kernel& kernel, const hwdesc::Device& device, const char* tile) {
  const IterationSpace space = make_iteration_space(kernel, device.native_tile);
  return LoopConvolution::of(kernel, space, device).value().parts(parse_tile(tile));
}

double matrix_s(const hwdesc::Device& device, const char* tile) {
  return parts_of(convolution_kernel(kSizes), device, tile)[index_of(Bound::kMatrix)];
}

// Steps of the sum, for tiles of this many pixels and features.
double steps(double pixels, double features) {
  return kSide * kSide / pixels * kOutputFeatures / features * kInputFeatures * kTaps;
}

TEST(LoopConvolution, AFewSumsWaitForTheirOwnLastStep) {
  for (const char* tile :
       {"out=1x1x1x8 kernel=3x3x16x1 unroll=1", "out=1x1x1x8 kernel=3x3x16x1 unroll=3"}) {
    EXPECT_DOUBLE_EQ(matrix_s(core_device(), tile), steps(1, 8) * kLatency * kCycle);
  }
}

TEST(LoopConvolution, SumsInRegistersTakeThePipes) {
  const double sums = 4 * 24 / 8;  // pixels x vectors of features: 12 of 14 registers
  EXPECT_DOUBLE_EQ(matrix_s(core_device(), "out=1x1x4x24 kernel=3x3x16x1 unroll=1"),
                   steps(4, 24) * sums / kPipes * kCycle);
}

TEST(LoopConvolution, TwoFeaturesAreComputedOneByOne) {
  const double sums = 4 * 2;
  EXPECT_DOUBLE_EQ(matrix_s(core_device(), "out=1x1x4x2 kernel=3x3x16x1 unroll=1"),
                   steps(4, 2) * sums / kPipes * kCycle);
}

TEST(LoopConvolution, SumsThatDoNotFitAreLoadedAndStored) {
  hwdesc::Device device = core_device();
  device.vector.store_ports = 0.5;
  const double sums = 8 * 48 / 8;
  EXPECT_DOUBLE_EQ(matrix_s(device, "out=1x1x8x48 kernel=3x3x16x1 unroll=1"),
                   steps(8, 48) * sums / device.vector.store_ports * kCycle);
  device.vector.store_ports = 1e9;
  device.vector.load_ports = 1;
  EXPECT_DOUBLE_EQ(matrix_s(device, "out=1x1x8x48 kernel=3x3x16x1 unroll=1"),
                   steps(8, 48) * (sums + 8 + 48 / 8) * kCycle);
}

// Packed arrays larger than the first cache: the longer of the two times counts.
TEST(LoopConvolution, CachesBringArraysBesideTheSums) {
  const ir::Kernel kernel = convolution_kernel(
      {.batch = 1, .side = 8, .input_features = 64, .features = 256, .groups = 1});
  const char* tile = "out=1x1x1x16 kernel=3x3x64x1 unroll=1";
  const auto busy_s = [&](double share) {
    hwdesc::Device device = core_device();
    device.memory[1].bandwidth = device.memory[1].bandwidth * share;
    const PerBound parts = parts_of(kernel, device, tile);
    return std::pair(parts[index_of(Bound::kMatrix)], parts[index_of(Bound::kOnChip)]);
  };
  const auto [matrix, hidden] = busy_s(100);
  EXPECT_EQ(hidden, 0);
  const auto [same, slow] = busy_s(1e-3);
  const auto [again, slower] = busy_s(0.5e-3);
  EXPECT_EQ(same, matrix);
  EXPECT_EQ(again, matrix);
  EXPECT_GT(slow, 0);
  EXPECT_NEAR(matrix + slower, 2 * (matrix + slow), 1e-9 * slower);
}

}  // namespace
}  // namespace tilecast::analytical::testing

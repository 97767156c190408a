#include "analytical/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analytical/accounting.h"
#include "analytical/analytical_model.h"
#include "analytical/block_product.h"
#include "analytical/roofline.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr double kBytesPerSecond = 1e12;

// Four workers of 32 lanes at 1 GHz multiply f32; memory without latency.
hwdesc::Device lanes_device() {
  hwdesc::Device device = block_device();
  device.matrix.rows = 1;
  device.matrix.columns = 32;
  device.matrix.passes = {{"f32", 1}};
  device.memory[0].bandwidth = BytesPerSecond{kBytesPerSecond};
  device.memory[0].latency = Seconds{0};
  return device;
}

double multiply_adds_per_s(const hwdesc::Device& device) {
  return device.matrix_peak("f32").value / 2 / device.multiplexing.workers;
}

double best_s(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return KernelAnalysis(kernel, device).estimate_best().time.value;
}

TEST(Winograd, FusedBlocksAre16ProductsOf32TilesAnd32Features) {
  const hwdesc::Device device = lanes_device();
  for (const std::int64_t features : {32, 33, 160, 161}) {
    // 8 x 8 tiles of one image are two blocks of 4 x 8; alone, one image would fill a sixteenth of
    // its padded size in the other arrangement.
    const auto estimate = winograd_estimate(
        convolution_kernel({.batch = 1, .side = 16, .input_features = 1024, .features = features}),
        device);
    ASSERT_TRUE(estimate);
    const double blocks = 2 * std::ceil(static_cast<double>(features) / 32);
    const double block_s =
        16.0 * 32 * 32 * (1 + 1.0 / 16) * (1024 + 16) / multiply_adds_per_s(device);
    const double weights_s =
        4.0 * 1024 * static_cast<double>(features) * (9 + 16) / kBytesPerSecond;
    EXPECT_NEAR(estimate->time.value, std::ceil(blocks / 4) * block_s + weights_s,
                1e-9 * estimate->time.value)
        << features;
    EXPECT_EQ(estimate->flags.back(), "Winograd F(2x2, 3x3), fused");
  }
}

TEST(Winograd, SmallImagesLeaveBlocksHalfEmpty) {
  const hwdesc::Device device = lanes_device();
  const auto time = [&](std::int64_t side) {
    return winograd_estimate(
               convolution_kernel(
                   {.batch = 4, .side = side, .input_features = 1024, .features = 32}),
               device)
        ->time.value;
  };
  // One block of 4 x 8 tiles per image and worker, for any part of 8 x 16 results.
  EXPECT_NEAR(time(5), time(8), 1e-3 * time(8));
  EXPECT_NEAR(time(9), 2 * time(8), 0.01 * time(9));
}

TEST(Winograd, InPartsIs36ProductsAndWhatTheTransformsMove) {
  const hwdesc::Device device = lanes_device();
  constexpr std::int64_t kImages = 64, kInputs = 512, kFeatures = 64;
  const auto estimate = winograd_estimate(
      convolution_kernel(
          {.batch = kImages, .side = 4, .input_features = kInputs, .features = kFeatures}),
      device);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->flags.back(), "Winograd F(4x4, 3x3), 36 products");
  // One tile per image.
  const double products_s = best_s(batched_product_kernel(36, kImages, kFeatures, kInputs), device);
  const double moved =
      4.0 * kImages * (6 * 6 * kInputs + 36 * kInputs + 36 * kFeatures + 4 * 4 * kFeatures);
  const double weights = 4.0 * kInputs * kFeatures * (9 + 36);
  EXPECT_NEAR(estimate->time.value, products_s + (moved / 0.7 + 3 * weights) / kBytesPerSecond,
              1e-6 * estimate->time.value);
}

TEST(Winograd, ImagesArePaddedTo16InParts) {
  const hwdesc::Device device = lanes_device();
  const auto time = [&](std::int64_t images) {
    return winograd_estimate(
               convolution_kernel(
                   {.batch = images, .side = 4, .input_features = 4096, .features = 256}),
               device)
        ->time.value;
  };
  EXPECT_NEAR(time(49), time(64), 0.01 * time(64)) << "64 rows of the products either way";
  EXPECT_GT(time(65), 1.1 * time(64));
}

TEST(Winograd, APowerLimitSlowsFusedConvolutionsOnly) {
  const ir::Kernel fused =
      convolution_kernel({.batch = 1, .side = 16, .input_features = 1024, .features = 160});
  const ir::Kernel in_parts =
      convolution_kernel({.batch = 64, .side = 4, .input_features = 512, .features = 64});
  const hwdesc::Device device = lanes_device();
  hwdesc::Device limited = device;
  limited.matrix.limited_clock = device.clock * 0.5;
  const auto time = [](const ir::Kernel& kernel, const hwdesc::Device& on) {
    return winograd_estimate(kernel, on)->bounds[index_of(Bound::kMatrix)].value;
  };
  EXPECT_DOUBLE_EQ(time(fused, limited), 2 * time(fused, device));
  EXPECT_DOUBLE_EQ(time(in_parts, limited), time(in_parts, device));
}

TEST(Winograd, IsNotForOtherWindowsGroupsOrFasterMatrixUnits) {
  const hwdesc::Device device = lanes_device();
  const ConvolutionSizes sizes{.batch = 8, .side = 16, .input_features = 64, .features = 64};
  EXPECT_TRUE(winograd_estimate(convolution_kernel(sizes), device));
  ConvolutionSizes grouped = sizes;
  grouped.groups = 4;
  EXPECT_FALSE(winograd_estimate(convolution_kernel(grouped), device));
  EXPECT_FALSE(winograd_estimate(batched_product_kernel(8, 16, 64, 64), device));
  hwdesc::Device faster = device;
  faster.matrix.rows_per_cycle = 2;
  EXPECT_FALSE(winograd_estimate(convolution_kernel(sizes), faster));
  hwdesc::Device compiled = device;
  compiled.execution = hwdesc::Execution::kScratchpad;
  EXPECT_FALSE(winograd_estimate(convolution_kernel(sizes), compiled));
}

TEST(Winograd, TheFasterAlgorithmIsTheEstimate) {
  const hwdesc::Device device = lanes_device();
  const ir::Kernel deep =
      convolution_kernel({.batch = 64, .side = 32, .input_features = 512, .features = 512});
  EXPECT_EQ(best_s(deep, device), winograd_estimate(deep, device)->time.value);
  // Far less than the multiplications of the definition, but at least a quarter of them.
  const double defined_s = 64.0 * 32 * 32 * 9 * 512 * 512 / (4 * multiply_adds_per_s(device));
  EXPECT_LT(best_s(deep, device), 0.6 * defined_s);
  EXPECT_GT(best_s(deep, device), speed_of_light(deep, device).value);
  EXPECT_NEAR(speed_of_light(deep, device).value, defined_s / 4, 1e-9 * defined_s);
  // Three input features: a block would mostly fill and drain, and transforms would wait for
  // memory.
  hwdesc::Device slow = device;
  slow.memory[0].bandwidth = BytesPerSecond{50e9};
  const ir::Kernel shallow =
      convolution_kernel({.batch = 64, .side = 32, .input_features = 3, .features = 512});
  EXPECT_LT(best_s(shallow, slow), 0.7 * winograd_estimate(shallow, slow)->time.value);
}

TEST(Winograd, MoreWorkIsNeverFaster) {
  const hwdesc::Device device = lanes_device();
  const ConvolutionSizes least{.batch = 3, .side = 7, .input_features = 40, .features = 40};
  const auto grown = [&](auto ConvolutionSizes::*size) {
    double before = 0;
    ConvolutionSizes sizes = least;
    for (int step = 0; step < 12; ++step, sizes.*size += sizes.*size / 3 + 1) {
      const double now = winograd_estimate(convolution_kernel(sizes), device)->time.value;
      EXPECT_GE(now, before * (1 - 1e-12)) << sizes.*size;
      before = now;
    }
  };
  grown(&ConvolutionSizes::batch);
  grown(&ConvolutionSizes::side);
  grown(&ConvolutionSizes::input_features);
  grown(&ConvolutionSizes::features);
}

}  // namespace

// Limiting cases of a convolution as loops, as formulas in the numbers of core_device(): 1 GHz, two
// pipes of 8 lanes with a latency of 4 cycles, 16 registers.

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

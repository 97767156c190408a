// Convolutions on a GPU's matrix units.
#include <gtest/gtest.h>

#include "analytical/analytical_model.h"
#include "analytical/simt_model.h"
#include "ir/kernels/kernel_sketch.h"
#include "test_kernels.h"
#include "tests/support/conv_dims.h"

namespace tilecast::analytical::testing {
namespace {

constexpr std::int64_t kResultSide = 16, kResultFeatures = 64;
constexpr double kHalfBytes = 2;  // bytes

struct Sizes {
  std::int64_t channels = 32, window = 3, stride = 1;
};

std::int64_t input_side(const Sizes& sizes) {
  return (kResultSide - 1) * sizes.stride + sizes.window;
}

// One image, a square result of kResultSide, f16, features innermost.
ir::Kernel convolution(const Sizes& sizes) {
  const ir::LayoutRules plain{.tiled = false};
  ir::KernelSketch sketch("convolution", ir::Opcode::kConvolution, plain);
  const std::int64_t side = input_side(sizes), w = sizes.window;
  const auto x = sketch.row_major_parameter(ir::DType::kF16, {1, side, side, sizes.channels});
  const auto k =
      sketch.row_major_parameter(ir::DType::kF16, {w, w, sizes.channels, kResultFeatures});
  const ir::WindowDim dim{.size = w, .stride = sizes.stride};
  ir::ConvAttrs attrs{.window = {dim, dim}, .dims = support::channels_last()};
  return sketch.build({sketch.convolution(
      x, k, std::move(attrs), {1, kResultSide, kResultSide, kResultFeatures}, ir::DType::kF16)});
}

TileConfig one_position(const Sizes& sizes) {
  return {.output = {1, kResultSide, kResultSide, kResultFeatures},
          .kernel = {1, 1, sizes.channels, kResultFeatures},
          .input = {}};
}

double bound_s(const Sizes& sizes, const hwdesc::Device& device, Bound bound) {
  const ir::Kernel kernel = convolution(sizes);
  return SimtModel(kernel, device).estimate(one_position(sizes)).bounds[index_of(bound)].value;
}

TEST(GpuConvolution, AStepTakesTheChannelsOfOnePosition) {
  hwdesc::Device device = block_device();
  const auto matrix_s = [](double channels) {  // of one block, a unit of 16 x 8 at 1 GHz
    return 3 * 3 * kResultSide * kResultSide * kResultFeatures * channels / (16 * 8) * 1e-9;
  };
  const double of_step = matrix_s(64 / kHalfBytes), of_cluster = matrix_s(128 / kHalfBytes);
  EXPECT_NEAR(bound_s({.channels = 8}, device, Bound::kMatrix), of_step, 1e-6 * of_step);
  EXPECT_NEAR(bound_s({.channels = 32}, device, Bound::kMatrix), of_step, 1e-6 * of_step);
  device.multiplexing.cluster_blocks = 2;
  EXPECT_NEAR(bound_s({.channels = 8}, device, Bound::kMatrix), of_cluster, 1e-6 * of_cluster);
}

// More channels are never faster: no kernel pads those that are no whole load, their bytes do.
TEST(GpuConvolution, ChannelsThatAreNoWholeLoadArePadded) {
  const hwdesc::Device device = block_device();
  const auto reads_s = [&](std::int64_t channels) {
    return bound_s({.channels = channels}, device, Bound::kHbmRead);
  };
  EXPECT_EQ(bound_s({.channels = 3}, device, Bound::kOverhead),
            bound_s({.channels = 8}, device, Bound::kOverhead));
  const double pixels = static_cast<double>(input_side({}) * input_side({}));
  EXPECT_GE(reads_s(3), pixels * kHalfBytes * 8 / 100e9);
  EXPECT_LE(reads_s(3), reads_s(8));
}

TEST(GpuConvolution, PixelsBetweenThoseOfAStrideAreNotLoaded) {
  const hwdesc::Device device = block_device();
  const auto bytes = [&](const Sizes& sizes) {
    const ir::Kernel kernel = convolution(sizes);
    return SimtModel(kernel, device).scratchpad_bytes(one_position(sizes));
  };
  EXPECT_EQ(bytes({.stride = 2}), bytes({.stride = 1}));
}

TEST(GpuConvolution, AWindowIsNotSplitOverBlocks) {
  hwdesc::Device device = block_device();
  device.dispatch.kernel_launch = Seconds{1e-6};
  device.memory[0].bandwidth = BytesPerSecond{1e15};
  device.memory[0].latency = Seconds{0};
  device.multiplexing.workers = 64;
  const auto launches_s = [&](std::int64_t window) {
    return KernelAnalysis(convolution({.channels = 1 << 13, .window = window}), device)
        .estimate_best()
        .bounds[index_of(Bound::kOverhead)]
        .value;
  };
  EXPECT_DOUBLE_EQ(launches_s(3), 1e-6);
  EXPECT_DOUBLE_EQ(launches_s(1), 2e-6);  // a product of few blocks is
}

TEST(GpuConvolution, EachFeatureByItselfTakesFourSlotsForAMultiplyAdd) {
  const hwdesc::Device device = block_device();
  const ir::Kernel kernel = convolution_kernel({2, 28, 64, 64, 64});
  const TileConfig image{.output = {1, 28, 28, 64}, .kernel = {3, 3, 1, 64}, .input = {}};
  const double cycles = 28.0 * 28 * 64 * 3 * 3 * 4 / 32;  // one of the two images
  EXPECT_NEAR(SimtModel(kernel, device).estimate(image).bounds[index_of(Bound::kVector)].value,
              cycles * 1e-9, 1e-12);
}

}  // namespace
}  // namespace tilecast::analytical::testing

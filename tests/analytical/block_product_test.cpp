// Cycles of products in blocks of rows and vectors, computed from core_device().
#include "analytical/block_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr double kLanes = 8, kPipes = 2, kLatency = 4;
constexpr double kLoadPorts = 2, kStorePorts = 1;
constexpr double kDepth = 1000;
constexpr double kRounding = 1e-12;

hwdesc::Device ported_device() {
  hwdesc::Device device = core_device();
  device.vector.load_ports = kLoadPorts;
  device.vector.store_ports = kStorePorts;
  return device;
}

double f32_cycles(const ProductSizes& sizes, const hwdesc::Device& device, double outside = 0) {
  return product_cycles(sizes, device, {.dtype = ir::DType::kF32}, outside);
}

// For ported_device(), with operands in the innermost cache.
double block_cycles(double rows, double vectors, double depth) {
  const double step = std::max({rows * vectors / kPipes, (rows + vectors) / kLoadPorts, kLatency});
  return depth * step + rows * vectors / kStorePorts;
}

ProductWays ways_of(const ir::Kernel& kernel, std::array<bool, 2> depth_is_minor) {
  const IterationSpace space = make_iteration_space(kernel, {});
  LoopSizes whole;
  whole.fill(1);
  for (std::size_t i = 0; i < space.loops.size(); ++i) whole[i] = space.loops[i].size;
  return product_ways(space, whole, depth_is_minor);
}

ProductSizes cheapest(const ProductWays& ways) {
  return *std::ranges::min_element(
      ways, {}, [](const ProductSizes& way) { return f32_cycles(way, ported_device()); });
}

ProductSizes sizes_of(const ir::Kernel& kernel, std::array<bool, 2> depth_is_minor) {
  return cheapest(ways_of(kernel, depth_is_minor));
}

bool can_be_thin(const ProductWays& ways) {
  return std::ranges::any_of(ways, [](const ProductSizes& way) { return way.skinny; });
}

TEST(BlockProduct, AWholeBlockIsBoundByItsMultiplyAdds) {
  const ProductSizes sizes{.rows = 4, .columns = 4 * kLanes, .depth = kDepth};
  EXPECT_DOUBLE_EQ(f32_cycles(sizes, ported_device()), kDepth * (4 * 4 / kPipes) + 4 * 4);
}

TEST(BlockProduct, ABlockIsBoundByItsLoadsWhenPortsAreFew) {
  hwdesc::Device device = ported_device();
  device.vector.load_ports = 0.5;
  const ProductSizes sizes{.rows = 4, .columns = 4 * kLanes, .depth = kDepth};
  EXPECT_DOUBLE_EQ(f32_cycles(sizes, device), kDepth * (4 + 4) / 0.5 + 4 * 4);
}

TEST(BlockProduct, ASingleRowWaitsForTheLatencyOfAMultiplyAdd) {
  const ProductSizes sizes{.rows = 1, .columns = 4 * kLanes, .depth = kDepth};
  EXPECT_DOUBLE_EQ(f32_cycles(sizes, ported_device()), kDepth * kLatency + 4);
  hwdesc::Device quick = ported_device();
  quick.matrix.fill = Cycles{1};
  EXPECT_DOUBLE_EQ(f32_cycles(sizes, quick), kDepth * (1 + 4) / kLoadPorts + 4);
}

TEST(BlockProduct, OperandsOutsideTheInnermostCacheCostARunOfTheColumnsEachStep) {
  hwdesc::Device device = ported_device();
  device.memory[1].bandwidth = BytesPerSecond{16e9};  // 16 B per cycle
  device.engines.back().full_efficiency_run = Bytes{64};
  const ProductSizes sizes{.rows = 4, .columns = 4 * kLanes, .depth = kDepth};
  const double run = 4 * 4 * kLanes + 64;
  EXPECT_DOUBLE_EQ(f32_cycles(sizes, device, 1), kDepth * run / 16 + 4 * 4);
  const double share = 0.75;
  EXPECT_DOUBLE_EQ(f32_cycles(sizes, device, share), kDepth * share * run / 16 + 4 * 4);
  EXPECT_DOUBLE_EQ(f32_cycles(sizes, device, 0), block_cycles(4, 4, kDepth));
}

TEST(BlockProduct, ColumnsAreTakenFourVectorsThenTwoThenOneAtATime) {
  const hwdesc::Device device = ported_device();
  const auto cycles = [&](double rows, double columns) {
    return f32_cycles({.rows = rows, .columns = columns, .depth = kDepth}, device);
  };
  const double four = 2 * block_cycles(4, 4, kDepth);  // for eight rows
  const double two = 2 * block_cycles(4, 2, kDepth);
  const double one = block_cycles(8, 1, kDepth);
  EXPECT_NEAR(cycles(8, 7 * kLanes), four + two + one, kRounding * four);
  EXPECT_NEAR(cycles(8, 9 * kLanes), 2 * four + one, kRounding * four);
  EXPECT_DOUBLE_EQ(cycles(8, 6 * kLanes + 1), cycles(8, 7 * kLanes));  // a partial vector
  const double rest = block_cycles(1, 4, kDepth);
  EXPECT_NEAR(cycles(9, 4 * kLanes), four + rest, kRounding * four);
}

TEST(BlockProduct, WhatFillsNoBlockIsPaddedWhereThatIsCheaper) {
  const hwdesc::Device device = ported_device();
  const auto cycles = [&](double rows, double columns) {
    return f32_cycles({.rows = rows, .columns = columns, .depth = kDepth}, device);
  };
  ASSERT_LT(block_cycles(4, 4, kDepth), 3 * block_cycles(1, 4, kDepth));
  EXPECT_DOUBLE_EQ(cycles(3, 4 * kLanes), block_cycles(4, 4, kDepth));
  const double three = block_cycles(1, 2, kDepth) + block_cycles(1, 1, kDepth);
  ASSERT_LT(block_cycles(1, 4, kDepth), three);
  EXPECT_DOUBLE_EQ(cycles(1, 3 * kLanes), block_cycles(1, 4, kDepth));
}

TEST(BlockProduct, AnElementTypeOfTwoPassesHalvesThePipes) {
  const ProductSizes sizes{.rows = 4, .columns = 4 * kLanes, .depth = kDepth};
  EXPECT_DOUBLE_EQ(product_cycles(sizes, ported_device(), {.dtype = ir::DType::kF64}, 0),
                   kDepth * 4 * 4 / (kPipes / 2) + 4 * 4);
}

TEST(BlockProduct, AMatrixUnitOfItsOwnClockCountsInCyclesOfTheCore) {
  hwdesc::Device device = ported_device();
  device.matrix.clock = device.clock * 0.5;
  const ProductSizes sizes{.rows = 4, .columns = 4 * kLanes, .depth = kDepth};
  EXPECT_DOUBLE_EQ(f32_cycles(sizes, device), kDepth * 4 * 4 / (kPipes / 2) + 4 * 4);
}

TEST(BlockProduct, ATypeTheUnitCannotTakeNeverEnds) {
  for (const bool thin : {false, true}) {
    const ProductSizes sizes{.rows = 4, .columns = 32, .depth = kDepth, .skinny = thin};
    EXPECT_TRUE(std::isinf(product_cycles(sizes, ported_device(), {}, 0)));
    EXPECT_TRUE(
        std::isfinite(product_cycles(sizes, ported_device(), {.dtype = ir::DType::kF32}, 0)));
  }
}

// Per column: its vectors, the elements of a partial vector, the sum over lanes, one latency.
TEST(BlockProduct, ThinProductsRunTheirVectorsAlongTheDepth) {
  const double vectors = 12, rest = 3;
  const ProductSizes sizes{
      .calls = 5, .rows = 2, .columns = 6, .depth = vectors * kLanes + rest, .skinny = true};
  const double loads_per_vector = 1.25;  // four columns share a load of the row
  const double vector = std::max(1 / kPipes, loads_per_vector / kLoadPorts);
  const double per_column =
      vectors * vector + std::min(vector, rest * 2 / kLoadPorts) + kLanes / 2 + kLatency;
  EXPECT_DOUBLE_EQ(f32_cycles(sizes, ported_device()), 5 * 2 * 6 * per_column);
}

TEST(BlockProduct, CallsAndWholeBlocksAddUp) {
  const hwdesc::Device device = ported_device();
  int checked = 0;
  for (int seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const auto size = [&](int most) { return static_cast<double>(1 + random() % most); };
    const ProductSizes sizes{
        .rows = 8 * size(20), .columns = 4 * kLanes * size(20), .depth = size(2000)};
    const double once = f32_cycles(sizes, device);
    for (int way = 0; way < 3; ++way) {
      ProductSizes more = sizes;
      const double times = size(7);
      (way == 0 ? more.calls : way == 1 ? more.rows : more.columns) *= times;
      ASSERT_NEAR(f32_cycles(more, device), times * once, kRounding * times * once) << seed;
      ++checked;
    }
  }
  EXPECT_EQ(checked, 1500);
}

TEST(BlockProduct, ADeeperProductOrSlowerCacheIsNeverFaster) {
  hwdesc::Device device = ported_device();
  device.memory[1].bandwidth = BytesPerSecond{16e9};
  device.engines.back().full_efficiency_run = Bytes{64};
  int dearer = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    std::mt19937_64 random(seed);
    const auto size = [&](int most) { return static_cast<double>(1 + random() % most); };
    const ProductSizes sizes{
        .rows = size(70), .columns = size(300), .depth = size(3000), .skinny = seed % 5 == 0};
    const double outside = static_cast<double>(seed % 11) / 10;
    ProductSizes deeper = sizes;
    deeper.depth += kLanes * size(100);
    const double before = f32_cycles(sizes, device, outside);
    ASSERT_LT(before, f32_cycles(deeper, device, outside)) << seed;
    const double farther = f32_cycles(sizes, device, 1);
    ASSERT_LE(before, farther * (1 + kRounding)) << seed;
    dearer += before < farther ? 1 : 0;
  }
  EXPECT_GT(dearer, 0);
}

// One more row, column, step or batch, for dots with all orders of dimensions.
TEST(BlockProduct, MoreOfAProductNeverTakesLess) {
  const hwdesc::Device device = ported_device();
  const auto cycles = [&](const std::array<std::int64_t, 4>& s, std::array<bool, 2> minor) {
    const ProductWays ways = ways_of(batched_product_kernel(s[0], s[1], s[2], s[3]), minor);
    return f32_cycles(cheapest(ways), device);
  };
  int thin = 0;
  for (int seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    std::array<std::int64_t, 4> sizes{};
    for (std::int64_t& size : sizes) size = 1 + static_cast<std::int64_t>(random() % 40);
    const std::array<bool, 2> minor{random() % 2 == 0, random() % 2 == 0};
    auto more = sizes;
    more[random() % 4] += 1 + static_cast<std::int64_t>(random() % 9);
    ASSERT_LE(cycles(sizes, minor), cycles(more, minor) * (1 + kRounding)) << seed;
    thin += can_be_thin(ways_of(batched_product_kernel(1, sizes[1], sizes[2], 9), minor)) ? 1 : 0;
  }
  EXPECT_GT(thin, 100);
}

TEST(ProductSizes, BatchesCountAsCalls) {
  const ProductSizes sizes = sizes_of(batched_product_kernel(12, 64, 48, 96), {true, false});
  EXPECT_DOUBLE_EQ(sizes.calls, 12);
  EXPECT_DOUBLE_EQ(sizes.rows, 64);
  EXPECT_DOUBLE_EQ(sizes.columns, 48);
  EXPECT_DOUBLE_EQ(sizes.depth, 96);
  EXPECT_FALSE(sizes.exchanged);
  EXPECT_FALSE(sizes.skinny);
}

TEST(ProductSizes, FewColumnsBecomeRows) {
  const ir::Kernel kernel = product_kernel(4096, 4, 256, ir::DType::kF32);
  const ProductSizes sizes = sizes_of(kernel, {false, false});
  EXPECT_TRUE(sizes.exchanged);
  EXPECT_DOUBLE_EQ(sizes.rows, 4);
  EXPECT_DOUBLE_EQ(sizes.columns, 4096);
  // Thin only if the columns' operand is contiguous along the depth.
  EXPECT_FALSE(can_be_thin(ways_of(kernel, {false, true})));
  EXPECT_TRUE(can_be_thin(ways_of(kernel, {true, false})));
}

TEST(ProductSizes, VectorsRunAlongTheDepthWhereBothSidesAreThinAndThatIsCheaper) {
  constexpr auto kF32 = ir::DType::kF32;
  EXPECT_TRUE(sizes_of(product_kernel(1, 1, 4096, kF32), {false, false}).skinny);
  EXPECT_FALSE(sizes_of(product_kernel(4, 4, 2, kF32), {false, false}).skinny);
  EXPECT_FALSE(can_be_thin(ways_of(product_kernel(8, 8, 4096, kF32), {false, true})));
  EXPECT_TRUE(can_be_thin(ways_of(product_kernel(1, 4096, 4096, kF32), {true, true})));
  EXPECT_TRUE(can_be_thin(ways_of(product_kernel(1, 4096, 4096, kF32), {false, true})));
}

TEST(ProductSizes, AConvolutionIsAProductPerWindowPositionAndRowOfTheImage) {
  const ProductSizes sizes =
      sizes_of(convolution_kernel({.batch = 8, .side = 56, .input_features = 64, .features = 128}),
               {false, false});
  EXPECT_DOUBLE_EQ(sizes.calls, 3 * 3 * 8 * 56);
  EXPECT_DOUBLE_EQ(sizes.rows, 56);
  EXPECT_DOUBLE_EQ(sizes.columns, 128);
  EXPECT_DOUBLE_EQ(sizes.depth, 64);
}

TEST(ProductSizes, GroupsOfAConvolutionAreProductsOfTheirOwn) {
  const ProductSizes grouped =
      sizes_of(convolution_kernel(
                   {.batch = 2, .side = 14, .input_features = 64, .features = 128, .groups = 4}),
               {false, false});
  EXPECT_DOUBLE_EQ(grouped.calls, 3 * 3 * 2 * 14 * 4);
  EXPECT_DOUBLE_EQ(grouped.columns, 32);
  EXPECT_DOUBLE_EQ(grouped.depth, 16);
  const ProductSizes depthwise =
      sizes_of(convolution_kernel(
                   {.batch = 2, .side = 14, .input_features = 64, .features = 64, .groups = 64}),
               {false, false});
  EXPECT_DOUBLE_EQ(depthwise.calls, 3 * 3 * 2 * 14);  // vectors along the features
  EXPECT_DOUBLE_EQ(depthwise.columns, 64);
}

}  // namespace
}  // namespace tilecast::analytical::testing

#include "analytical/simt_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "alcop.h"
#include "analytical/analytical_model.h"
#include "ir/kernels/kernel_sketch.h"
#include "simt_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr double kLatency = 1e-6;
constexpr double kBandwidth = 100e9;

// Blocks of 64 x 64, steps of 32 along the contraction.
TileConfig square_tile() {
  return {.output = {64, 64}, .kernel = {32, 64}, .input = {}};
}

// ALCOP Table I for one wave of 2 x 2 blocks, from the numbers of block_device() alone.
double alcop_s(double depth, double matrix_flops_per_s) {
  const double steps = depth / 32;
  const double slice = 2 * 64.0 * 32 * 2;  // bytes of both operands
  const double use_s = 2 * 64.0 * 64 * 32 / matrix_flops_per_s;
  const double working_set = 2 * slice;  // of four blocks in a square
  const double load_s = kLatency + working_set / kBandwidth;
  const double main_loop = load_use_loop_s(load_s, use_s, steps, 2, 1);
  const double init = kLatency + 4 * slice / kBandwidth;
  const double epilogue = kLatency + 4 * 64.0 * 64 * 2 / kBandwidth;
  return init + main_loop + epilogue;
}

TEST(SimtModel, IsAlcopsFormulaWhenLoadsBindWithoutASharedCache) {
  hwdesc::Device device = block_device();
  device.memory[0].full_duplex = true;
  device.memory[0].bandwidth = BytesPerSecond{kBandwidth};
  device.vector.load_ports = device.vector.store_ports = 1e9;
  for (const std::int64_t depth : {64, 256, 4096}) {
    const ir::Kernel kernel = product_kernel(128, 128, depth);
    device.matrix.rows_per_cycle = 16;
    const SimtModel model(kernel, device);
    const double peak = device.matrix_peak("f16").value / 4;
    const double expected = alcop_s(static_cast<double>(depth), peak);
    EXPECT_NEAR(model.time_s(square_tile()), expected, 1e-3 * expected) << depth;
  }
}

TEST(SimtModel, IsAlcopsFormulaWhenUseBinds) {
  hwdesc::Device device = block_device();
  device.memory[0].full_duplex = true;
  device.matrix.rows_per_cycle = 0.1;
  const ir::Kernel kernel = product_kernel(128, 128, 4096);
  const double expected = alcop_s(4096, device.matrix_peak("f16").value / 4);
  EXPECT_NEAR(SimtModel(kernel, device).time_s(square_tile()), expected, 1e-3 * expected);
}

TEST(SimtLaunch, OccupancyIsTheTightestOfBlocksSharedMemoryAndRegisters) {
  hwdesc::Device device = block_device();
  device.multiplexing.max_resident = 16;
  device.multiplexing.registers_per_worker = Bytes{256.0 * 1024};
  EXPECT_EQ(resident_blocks(device, {.shared_bytes = 0, .register_bytes = 0}), 16);
  EXPECT_EQ(resident_blocks(device, {.shared_bytes = 64 * 1024 / 3.0, .register_bytes = 0}), 3);
  EXPECT_EQ(resident_blocks(device, {.shared_bytes = 1, .register_bytes = 64 * 1024}), 2);
  EXPECT_EQ(resident_blocks(device, {.shared_bytes = 64 * 1024 + 1, .register_bytes = 0}), 0);
}

TEST(SimtLaunch, WavesAndBlocksOfTheBusiestWorkerAreRoundedUp) {
  const hwdesc::Device device = block_device();
  const Launch launch = launch_of(device, 2, 17);
  EXPECT_EQ(launch.waves, 3);       // 8 + 8 + 1
  EXPECT_EQ(launch.per_worker, 5);  // 17 over 4 workers
  EXPECT_EQ(launch.wave_blocks, 8);
}

TEST(SimtLaunch, AWaveIsSquareInBytesWithinItsGrid) {
  const WaveShape square = wave_shape(64, 100, 100, 5, 5);
  EXPECT_DOUBLE_EQ(square.rows, 8);
  EXPECT_DOUBLE_EQ(square.columns, 8);
  const WaveShape wide = wave_shape(64, 4, 100, 5, 5);
  EXPECT_DOUBLE_EQ(wide.rows, 4);
  EXPECT_DOUBLE_EQ(wide.columns, 16);
  const WaveShape uneven = wave_shape(64, 100, 100, 4, 1);  // rows cost four times as much
  EXPECT_DOUBLE_EQ(uneven.rows * 4, uneven.columns);
}

TEST(SimtModel, OneBlockMoreThanAWaveTakesASecondRoundOfTheBusiestWorker) {
  hwdesc::Device device = block_device();
  device.memory[0].latency = Seconds{0};
  device.memory[0].bandwidth = BytesPerSecond{1e15};
  device.vector.load_ports = device.vector.store_ports = 1e9;
  const double one = SimtModel(product_kernel(64, 256, 4096), device).time_s(square_tile());
  const double two = SimtModel(product_kernel(64, 512, 4096), device).time_s(square_tile());
  EXPECT_NEAR(two, 2 * one, 1e-3 * two);
  const double more = SimtModel(product_kernel(64, 320, 65536), device).time_s(square_tile());
  const double full = SimtModel(product_kernel(64, 256, 65536), device).time_s(square_tile());
  EXPECT_GT(more, 1.2 * full);  // split along the contraction, no better than 5 / 4
}

TEST(SimtModel, AStreamingKernelAttainsTheSustainedBandwidth) {
  hwdesc::Device device = block_device();
  device.memory[0].efficiency = 0.8;
  device.vector.alus = 1000;
  device.vector.load_ports = device.vector.store_ports = 1000;
  device.multiplexing.max_resident = 16;
  device.multiplexing.registers_per_worker = Bytes{256.0 * 1024};
  const ir::Kernel kernel = chain_kernel(1 << 13, 1 << 13, 1);
  const Estimate estimate = KernelAnalysis(kernel, device).estimate_best();
  const double bytes = 3 * 4 * std::pow(2, 26);
  EXPECT_NEAR(estimate.time.value, bytes / (0.8 * kBandwidth), 0.01 * estimate.time.value);
  EXPECT_EQ(estimate.bound, Bound::kHbmRead);
  EXPECT_DOUBLE_EQ(estimate.hbm_read.value, 2 * bytes / 3);
  EXPECT_DOUBLE_EQ(estimate.hbm_write.value, bytes / 3);
}

TEST(SimtModel, BytesInFlightLimitBandwidth) {
  hwdesc::Device device = block_device();
  device.vector.alus = device.vector.load_ports = device.vector.store_ports = 1000;
  device.engines[0].in_flight = Bytes{10e3};
  const double bytes = 2 * 4 * std::pow(2, 26);  // reads
  const double limited = 10e3 / kLatency;
  const Estimate estimate =
      KernelAnalysis(chain_kernel(1 << 13, 1 << 13, 1), device).estimate_best();
  EXPECT_GE(estimate.time.value, bytes / limited);
}

TEST(SimtModel, ASharedCacheThatHoldsTheOperandsLoadsThemOnce) {
  hwdesc::Device device = block_device();
  device.memory.insert(device.memory.begin() + 1, device.memory[0]);
  device.memory[1].name = "cache";
  device.memory[1].capacity = Bytes{1e9};
  device.engines.resize(2);
  const ir::Kernel kernel = product_kernel(1024, 1024, 1024);
  EXPECT_DOUBLE_EQ(SimtModel(kernel, device).estimate(square_tile()).hbm_read.value,
                   2 * 2 * 1024.0 * 1024);
  device.memory[1].capacity = Bytes{0};
  EXPECT_GT(SimtModel(kernel, device).estimate(square_tile()).hbm_read.value,
            4 * 2 * 2 * 1024.0 * 1024);
}

TEST(SimtModel, ClustersLoadWhatTheyShareOnce) {
  hwdesc::Device device = block_device();
  device.memory.insert(device.memory.begin() + 1, device.memory[0]);
  device.memory[0].bandwidth = BytesPerSecond{1e15};
  device.memory[1].name = "cache";
  device.memory[1].bandwidth = BytesPerSecond{1e9};
  device.engines.resize(2);
  const ir::Kernel kernel = product_kernel(1024, 1024, 8192);
  const double alone = SimtModel(kernel, device).time_s(square_tile());
  device.multiplexing.cluster_blocks = 4;  // 2 x 2
  const double together = SimtModel(kernel, device).time_s(square_tile());
  EXPECT_NEAR(together, alone / 2, 0.02 * together);
}

double matrix_s(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return KernelAnalysis(kernel, device).estimate_best().bounds[index_of(Bound::kMatrix)].value;
}

TEST(SimtModel, ANarrowProductComputesTheSmallestTileThatLibrariesHave) {
  hwdesc::Device device = block_device();
  device.memory[0].bandwidth = BytesPerSecond{1e15};
  device.memory[0].latency = Seconds{0};
  const double whole = matrix_s(product_kernel(64, 4096, 4096), device);
  EXPECT_GT(whole, 0);
  for (const std::int64_t rows : {2, 16, 63}) {
    EXPECT_DOUBLE_EQ(matrix_s(product_kernel(rows, 4096, 4096), device), whole) << rows;
    EXPECT_DOUBLE_EQ(matrix_s(product_kernel(4096, rows, 4096), device), whole) << rows;
  }
  EXPECT_LT(matrix_s(product_kernel(1, 4096, 4096), device), whole / 2);  // a vector
  EXPECT_GT(matrix_s(product_kernel(65, 4096, 4096), device), whole);
}

TEST(SimtModel, ABlockComputesAllOfALibrarysTile) {
  hwdesc::Device device = block_device();
  device.memory[0].bandwidth = BytesPerSecond{1e15};
  device.memory[0].latency = Seconds{0};
  const auto matrix_of = [&](std::int64_t rows) {
    return SimtModel(product_kernel(rows, 4096, 4096), device)
        .estimate({.output = {rows, 64}, .kernel = {32, 64}, .input = {}})
        .bounds[index_of(Bound::kMatrix)]
        .value;
  };
  EXPECT_DOUBLE_EQ(matrix_of(65), 2 * matrix_of(64));
  EXPECT_DOUBLE_EQ(matrix_of(100), matrix_of(128));
  EXPECT_DOUBLE_EQ(matrix_of(272), 17.0 / 16 * matrix_of(256));  // no library has a larger one
}

TEST(SimtModel, BatchesOnVectorLanesTakeBlocksOf64RowsAndAreNotSplit) {
  constexpr std::int64_t kBatch = 8, kSide = 32, kDepth = 1 << 14;
  ir::KernelSketch sketch("batch", ir::Opcode::kDot, {.tiled = false});
  const ir::OpId a = sketch.parameter(ir::DType::kF32, {kBatch, kSide, kDepth});
  const ir::OpId b = sketch.parameter(ir::DType::kF32, {kBatch, kDepth, kSide});
  const ir::DotDims dims{
      .lhs_contracting = {2}, .rhs_contracting = {1}, .lhs_batch = {0}, .rhs_batch = {0}};
  const ir::Kernel batch =
      sketch.build({sketch.dot(a, b, dims, {kBatch, kSide, kSide}, ir::DType::kF32)});
  hwdesc::Device device = block_device();
  device.memory[0].bandwidth = BytesPerSecond{1e15};
  device.memory[0].latency = Seconds{0};
  device.dispatch.kernel_launch = Seconds{1e-6};
  const auto busy = [&](const ir::Kernel& kernel, Bound bound) {
    return KernelAnalysis(kernel, device).estimate_best().bounds[index_of(bound)].value;
  };
  const double blocks = kBatch / 4.0;         // of one worker
  device.matrix.passes["f32"] = 16 * 8 / 32;  // 32 multiply-adds per cycle, as many as lanes
  EXPECT_NEAR(busy(batch, Bound::kMatrix), blocks * 64 * 64 * kDepth / 32 * 1e-9, 1e-9);
  EXPECT_DOUBLE_EQ(busy(batch, Bound::kOverhead), 1e-6);
  const ir::Kernel one = product_kernel(kSide, kSide, kDepth, ir::DType::kF32);
  EXPECT_DOUBLE_EQ(busy(one, Bound::kOverhead), 2e-6);
  device.matrix.passes["f32"] = 1;
  EXPECT_NEAR(busy(batch, Bound::kMatrix), blocks * kSide * kSide * kDepth / 128 * 1e-9, 1e-9);
}

TEST(SimtModel, ProductsOfEightBitFloatsTakeBlocksOf128RowsAndAreNotSplit) {
  hwdesc::Device device = block_device();
  device.matrix.passes["f8"] = 1;
  device.dispatch.kernel_launch = Seconds{1e-6};
  device.memory[0].bandwidth = BytesPerSecond{1e15};
  device.memory[0].latency = Seconds{0};
  device.multiplexing.registers_per_worker = Bytes{256.0 * 1024};
  const auto estimate = [&](std::int64_t rows, ir::DType dtype) {
    return KernelAnalysis(product_kernel(rows, 128, 1 << 16, dtype), device).estimate_best();
  };
  const Estimate f8 = estimate(2, ir::DType::kF8E4M3FN);
  const double cycles = 128.0 * 128 * (1 << 16) / (16 * 8);  // one block, one worker
  EXPECT_NEAR(f8.bounds[index_of(Bound::kMatrix)].value, cycles * 1e-9, 1e-9);
  EXPECT_DOUBLE_EQ(f8.bounds[index_of(Bound::kOverhead)].value, 1e-6);
  EXPECT_DOUBLE_EQ(estimate(2, ir::DType::kF16).bounds[index_of(Bound::kOverhead)].value, 2e-6);
}

TEST(SimtModel, ATileThatIsAskedForIsNotWidened) {
  hwdesc::Device device = block_device();
  device.memory[0].bandwidth = BytesPerSecond{1e15};
  device.memory[0].latency = Seconds{0};
  const ir::Kernel kernel = product_kernel(4096, 4096, 4096);
  const SimtModel model(kernel, device);
  const auto matrix_of = [&](std::int64_t side) {
    return model.estimate({.output = {side, side}, .kernel = {32, side}, .input = {}})
        .bounds[index_of(Bound::kMatrix)]
        .value;
  };
  EXPECT_DOUBLE_EQ(matrix_of(16), matrix_of(64));
}

TEST(SimtModel, SaysWhichResourceATileExceeds) {
  const ir::Kernel kernel = product_kernel(1024, 1024, 1024);
  const hwdesc::Device device = block_device();
  const SimtModel model(kernel, device);
  const TileConfig large{.output = {512, 512}, .kernel = {64, 512}, .input = {}};
  EXPECT_TRUE(std::isinf(model.time_s(large)));
  EXPECT_NE(model.infeasible_reason(large).find("KiB of shared"), std::string::npos)
      << model.infeasible_reason(large);
  EXPECT_EQ(model.infeasible_reason({.output = {32, 32}, .kernel = {32, 32}, .input = {}}), "");
}

}  // namespace
}  // namespace tilecast::analytical::testing

#include "analytical/simt_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "alcop.h"
#include "analytical/analytical_model.h"
#include "ir/kernels/kernel_sketch.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr double kLatency = 1e-6;
constexpr double kBandwidth = 100e9;

// Blocks of 64 x 64, with steps of 32 along the contraction.
TileConfig square_tile() {
  return {.output = {64, 64}, .kernel = {32, 64}, .input = {}};
}

// ALCOP Table I for one wave of 2 x 2 blocks, computed from block_device().
double alcop_s(double depth, double matrix_flops_per_s) {
  const double steps = depth / 32;
  const double slice = 2 * 64.0 * 32 * 2;  // bytes of both operands
  const double use_s = 2 * 64.0 * 64 * 32 / matrix_flops_per_s;
  const double working_set = 2 * slice;  // of four blocks arranged in a square
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
  device.vector.lanes = 8;  // even slower: the product stays on the matrix unit
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
  EXPECT_EQ(launch.per_worker, 5);  // 17 blocks on 4 workers
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
  EXPECT_GT(more, 1.2 * full);  // split along the contraction, at most 5 / 4 faster
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

// At a share b of the memory's bandwidth the latency grows by the factor b / (2 (1 - b)), and
// buffers of `in_flight` bytes move as much in that time.
TEST(SimtModel, LoadsOfProductsQueueForMainMemory) {
  hwdesc::Device device = block_device();
  device.memory.insert(device.memory.begin() + 1, device.memory[0]);
  device.memory[1] = {.name = "cache", .capacity = Bytes{1e9}, .bandwidth = BytesPerSecond{1e15}};
  device.engines.resize(2);
  device.engines[1].stages = 4;
  device.matrix.rows_per_cycle = 1e6;
  device.memory[0].full_duplex = true;
  const ir::Kernel kernel = product_kernel(128, 128, 4096);
  const double in_flight = 4 * 4 * 2 * 64.0 * 32 * 2;  // of four blocks, four buffers each
  const double loaded = 4 * 2 * 64.0 * 4096 * 2;       // twice the memory's bandwidth
  double last = 0;
  for (const double latency : {50e-9, 100e-9, 150e-9}) {
    device.memory[0].latency = Seconds{latency};
    const double time = SimtModel(kernel, device).time_s(square_tile()) - 2 * latency;
    const double busy = loaded / 2 / kBandwidth / time;
    EXPECT_NEAR(time, loaded / in_flight * latency * (1 + busy / (2 * (1 - busy))), 1e-3 * time);
    EXPECT_GT(time, std::max(last, loaded / 2 / kBandwidth));
    last = time;
  }
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
  EXPECT_DOUBLE_EQ(matrix_of(272), 17.0 / 16 * matrix_of(256));  // libraries have no larger tile
}

constexpr std::int64_t kBatch = 8;

ir::Kernel batch_kernel(std::int64_t side, std::int64_t depth) {
  ir::KernelSketch sketch("batch", ir::Opcode::kDot, {.tiled = false});
  const ir::OpId a = sketch.parameter(ir::DType::kF32, {kBatch, side, depth});
  const ir::OpId b = sketch.parameter(ir::DType::kF32, {kBatch, depth, side});
  const ir::DotDims dims{
      .lhs_contracting = {2}, .rhs_contracting = {1}, .lhs_batch = {0}, .rhs_batch = {0}};
  return sketch.build({sketch.dot(a, b, dims, {kBatch, side, side}, ir::DType::kF32)});
}

// f32 products use its 32 lanes.
hwdesc::Device lane_device() {
  hwdesc::Device device = block_device();
  device.memory[0].bandwidth = BytesPerSecond{1e15};
  device.memory[0].latency = Seconds{0};
  device.memory[1].capacity = Bytes{256.0 * 1024};
  device.matrix.passes["f32"] = 16 * 8 / 32;
  return device;
}

TEST(SimtModel, BatchesOnVectorLanesTakeBlocksOf64RowsAndAreNotSplit) {
  constexpr std::int64_t kSide = 32, kDepth = 1 << 14;
  const ir::Kernel batch = batch_kernel(kSide, kDepth);
  hwdesc::Device device = lane_device();
  device.dispatch.kernel_launch = Seconds{1e-6};
  const auto busy = [&](const ir::Kernel& kernel, Bound bound) {
    return KernelAnalysis(kernel, device).estimate_best().bounds[index_of(bound)].value;
  };
  const double blocks = kBatch / 4.0;                       // per worker
  const double reads = (1 + 16 / 64.0) / (1 + 16 / 128.0);  // against blocks of 128 x 128
  EXPECT_NEAR(busy(batch, Bound::kMatrix), reads * blocks * 64 * 64 * kDepth / 32 * 1e-9, 1e-9);
  EXPECT_DOUBLE_EQ(busy(batch, Bound::kOverhead), 1e-6);
  const ir::Kernel one = product_kernel(kSide, kSide, kDepth, ir::DType::kF32);
  EXPECT_DOUBLE_EQ(busy(one, Bound::kOverhead), 2e-6);
  device.matrix.passes["f32"] = 1;
  EXPECT_NEAR(busy(batch, Bound::kMatrix), blocks * kSide * kSide * kDepth / 128 * 1e-9, 1e-9);
}

TEST(SimtModel, EachGenerationOfKernelsHasItsBlocksForBatchesOnVectorLanes) {
  constexpr std::int64_t kSide = 32, kDepth = 1 << 14;
  const ir::Kernel batch = batch_kernel(kSide, kDepth);
  const auto expect_block = [&](const hwdesc::Device& device, double rows, double columns) {
    const Estimate estimate = KernelAnalysis(batch, device).estimate_best();
    const double flops_per_cycle = device.matrix_peak("f32").value * 1e-9 / 4;
    const double reads = (1 + 8 / rows + 8 / columns) / (1 + 16 / 128.0);
    EXPECT_NEAR(estimate.bounds[index_of(Bound::kMatrix)].value,
                reads * kBatch / 4.0 * 2 * rows * columns * kDepth / flops_per_cycle * 1e-9, 1e-9);
  };
  hwdesc::Device asynchronous = lane_device();
  asynchronous.engines[0].stages = 4;
  expect_block(asynchronous, 128, 128);
  hwdesc::Device without_tensor_cores = lane_device();
  without_tensor_cores.matrix.rows = 1;
  without_tensor_cores.matrix.passes["f32"] = 1;
  expect_block(without_tensor_cores, 64, 128);
}

TEST(SimtModel, SmallBlocksOnVectorLanesReadMoreForEachMultiplyAdd) {
  const hwdesc::Device device = lane_device();
  const SimtModel model(product_kernel(4096, 4096, 4096, ir::DType::kF32), device);
  const auto matrix_of = [&](std::int64_t rows, std::int64_t columns) {
    return model.estimate({.output = {rows, columns}, .kernel = {32, columns}, .input = {}})
        .bounds[index_of(Bound::kMatrix)]
        .value;
  };
  const double fastest = 2 * std::pow(4096.0, 3) / device.matrix_peak("f32").value;
  EXPECT_NEAR(matrix_of(128, 128), fastest, 1e-9 * fastest);
  for (const auto& [rows, columns] : {std::pair{128, 64}, {128, 32}, {64, 32}, {32, 32}}) {
    const double reads = 8 * (1.0 / rows + 1.0 / columns);  // of 16 x 16 threads, in issue slots
    EXPECT_NEAR(matrix_of(rows, columns), fastest * (1 + reads) / (1 + 8 * 2 / 128.0),
                1e-9 * fastest)
        << rows << "x" << columns;
    EXPECT_DOUBLE_EQ(matrix_of(rows, columns), matrix_of(columns, rows));
  }
}

TEST(SimtModel, SingleProductsWithoutTensorCoresRunInBlocksOf4096Results) {
  hwdesc::Device device = lane_device();
  const ir::Kernel product = product_kernel(4096, 4096, 4096, ir::DType::kF32);
  const auto results = [&] {
    const TileConfig tile = KernelAnalysis(product, device).estimate_best().tile;
    return tile.output[0] * tile.output[1];
  };
  EXPECT_EQ(results(), 128 * 128);
  device.matrix.rows = 1;
  device.matrix.passes["f32"] = 1;
  EXPECT_EQ(results(), 4096);
}

TEST(SimtModel, KernelsOnVectorLanesRoundTheContractionUpToEight) {
  hwdesc::Device device = lane_device();
  const auto matrix_of = [&](std::int64_t depth) {
    return matrix_s(batch_kernel(64, depth), device);
  };
  for (const std::int64_t depth : {1, 7, 40, 97, 1000}) {
    const double rounded = std::ceil(static_cast<double>(depth) / 8) * 8;
    EXPECT_NEAR(matrix_of(depth) / matrix_of(8), rounded / 8, 1e-9 * rounded) << depth;
  }
}

// f32 product on vector lanes; the right operand is row-major or column-major.
ir::Kernel stored_product(std::int64_t side, std::int64_t depth, bool rows_are_columns) {
  ir::KernelSketch sketch("product", ir::Opcode::kDot, {.tiled = false});
  const ir::Dims lhs{side, depth}, rhs{depth, side};
  const ir::OpId a = sketch.parameter(ir::DType::kF32, lhs);
  const ir::OpId b = sketch.parameter(ir::DType::kF32, rows_are_columns ? lhs : rhs);
  const ir::DotDims dims{.lhs_contracting = {1}, .rhs_contracting = {rows_are_columns ? 1 : 0}};
  return sketch.build({sketch.dot(a, b, dims, {side, side}, ir::DType::kF32)});
}

TEST(SimtModel, StepsOnVectorLanesReadPiecesOfRowsWhoseDepthIsInnermost) {
  constexpr std::int64_t kSide = 256, kDepth = 1 << 14;
  constexpr double kPiece = 8 * 4, kCost = 96;
  hwdesc::Device device = lane_device();
  device.memory[0].bandwidth = BytesPerSecond{kBandwidth};
  device.multiplexing.max_resident = 4;  // all blocks at once
  device.memory[1].capacity = Bytes{1e12};
  const auto read_s = [&](bool rows_are_columns) {
    return SimtModel(stored_product(kSide, kDepth, rows_are_columns), device)
        .estimate(square_tile())
        .bounds[index_of(Bound::kHbmRead)]
        .value;
  };
  const double long_runs_s = 4.0 * kSide * kDepth / kBandwidth;  // of one operand
  EXPECT_NEAR(read_s(true), 2 * long_runs_s, 1e-9 * long_runs_s);
  device.engines[0].full_efficiency_run = Bytes{kCost};
  const double pieces_s = strided_slowdown(kPiece, 4 * kDepth, kCost) * long_runs_s;
  EXPECT_NEAR(read_s(false), pieces_s + long_runs_s, 1e-9 * pieces_s);
  EXPECT_NEAR(read_s(true), 2 * pieces_s, 1e-9 * pieces_s);
}

TEST(SimtModel, BlocksOnVectorLanesStartAlongTheColumns) {
  constexpr std::int64_t kDepth = 1024, kTile = 64, kWave = 4;  // blocks
  for (const std::int64_t columns : {1, 2, 128}) {
    const ir::Kernel kernel = product_kernel(16 * kTile, columns * kTile, kDepth, ir::DType::kF32);
    const double loads = 16.0 * columns * 4 * kTile * kDepth;  // of either operand
    const double in_row = std::min(columns, kWave);
    const Estimate estimate = SimtModel(kernel, lane_device()).estimate(square_tile());
    EXPECT_DOUBLE_EQ(estimate.hbm_read.value, loads / in_row + loads * in_row / kWave) << columns;
  }
}

TEST(SimtModel, LongProductsRunAtTheClockThatThePowerLimitHolds) {
  hwdesc::Device device = lane_device();
  const auto matrix_of = [&](std::int64_t depth) {
    return matrix_s(product_kernel(4096, 4096, depth, ir::DType::kF32), device);
  };
  const double shorter = matrix_of(64), longer = matrix_of(4096);
  device.matrix.limited_clock = device.clock * 0.5;
  device.matrix.full_clock_time = Seconds{2 * shorter};
  EXPECT_DOUBLE_EQ(matrix_of(64), shorter);
  EXPECT_NEAR(matrix_of(4096), 2 * longer - 2 * shorter, 1e-6 * longer);
}

TEST(SimtModel, ProductsWaitOnceForTheSetUpOfTheirLoads) {
  hwdesc::Device device = block_device();
  const ir::Kernel product = product_kernel(4096, 4096, 4096);
  const ir::Kernel chain = chain_kernel(1 << 10, 1 << 10, 1);
  const auto time_s = [&](const ir::Kernel& kernel) {
    return KernelAnalysis(kernel, device).estimate_best().time.value;
  };
  const double before = time_s(product), chain_before = time_s(chain);
  device.engines.back().setup = Seconds{2e-6};
  EXPECT_NEAR(time_s(product), before + 2e-6, 1e-12);
  EXPECT_DOUBLE_EQ(time_s(chain), chain_before);
}

TEST(SimtModel, ProductsTakeTheBlocksThatTheyStateAndAreNotSplit) {
  hwdesc::Device device = block_device();
  device.matrix.passes["f8"] = 1;
  device.dispatch.kernel_launch = Seconds{1e-6};
  device.memory[0].bandwidth = BytesPerSecond{1e15};
  device.memory[0].latency = Seconds{0};
  device.multiplexing.registers_per_worker = Bytes{256.0 * 1024};
  const auto product = [](std::int64_t rows, std::int64_t columns, std::int64_t depth,
                          bool states) {
    const ir::LayoutRules plain{.tiled = false};
    ir::KernelSketch sketch("product", ir::Opcode::kDot, plain);
    const auto a = sketch.parameter(ir::DType::kF8E4M3FN, {rows, depth});
    const auto b = sketch.parameter(ir::DType::kF8E4M3FN, {depth, columns});
    const auto c = sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}},
                              {rows, columns}, ir::DType::kF16);
    if (states) sketch.set_block({128, 128});
    return sketch.build({c});
  };
  const auto estimate = [&](bool states) {
    return KernelAnalysis(product(2, 128, 1 << 16, states), device).estimate_best();
  };
  const Estimate stated = estimate(true);
  const double cycles = 128.0 * 128 * (1 << 16) / (16 * 8);  // one block, one worker
  EXPECT_NEAR(stated.bounds[index_of(Bound::kMatrix)].value, cycles * 1e-9, 1e-9);
  EXPECT_DOUBLE_EQ(stated.bounds[index_of(Bound::kOverhead)].value, 1e-6);
  EXPECT_DOUBLE_EQ(estimate(false).bounds[index_of(Bound::kOverhead)].value, 2e-6);
  const auto blocks = SimtModel(product(1024, 1024, 64, true), device);
  for (const TileConfig& tile : blocks.candidates(1000)) {
    EXPECT_EQ(tile.output, (ir::Dims{128, 128}));
  }
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

// Kernel times of the scratchpad pipeline, against closed formulas.
#include "analytical/scratchpad_model.h"

#include <gmock/gmock.h>

#include <cmath>

#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr double kBandwidth = 100e9;  // of round_device()
constexpr double kClock = 1e9;

double bound(const Estimate& e, Bound b) {
  return e.bounds[static_cast<std::size_t>(b)].value;
}

// f32[rows, 1024] = p0 + p1
ir::Kernel addition(std::int64_t rows, const std::string& first_suffix = "") {
  const std::string shape = array("f32", {rows, 1024});
  std::string first = shape;
  if (!first_suffix.empty()) first.insert(first.size() - 1, first_suffix);
  return kernel_of(fusion({first, shape}, shape, "  ROOT r = " + shape + " add(p0, p1)"));
}

// Time of `tile_rows` rows on the core: two registers are loaded per sum.
double addition_s(double tile_rows) {
  return 2 * tile_rows * 1024 / (8 * 128) / kClock;
}

TileConfig rows_of_8(std::int64_t count) {
  return {.output = {count, 8}, .kernel = {}, .input = {}};
}

Estimate estimate(const ir::Kernel& kernel, const TileConfig& tile,
                  const hwdesc::Device& device = round_device()) {
  return ScratchpadModel(kernel, device).estimate(tile);
}

TEST(ScratchpadModel, OfAStreamIsFillPlusPeriodsPlusDrain) {
  const double tile_s = 64 * 1024 * 4 / kBandwidth;
  const double tiles = 32;
  const double fill = 2 * tile_s;
  const double drain = tile_s;
  const double period = 3 * tile_s;
  const Estimate e = estimate(addition(64 * 32), rows_of_8(8));
  const double expected = fill + (tiles - 1) * period + addition_s(64) + drain;
  EXPECT_NEAR(e.time.value, expected, 1e-9 * expected);
  EXPECT_EQ(e.iterations, tiles);
}

TEST(ScratchpadModel, OfALongStreamIsItsBytesOverTheBandwidth) {
  const ir::Kernel k = addition(64 * 256);
  const double bytes = 3.0 * 64 * 256 * 1024 * 4;
  const Estimate e = estimate(k, rows_of_8(8));
  EXPECT_NEAR(e.time.value, bytes / kBandwidth, 0.01 * bytes / kBandwidth);
  EXPECT_EQ(e.hbm_read.value, bytes * 2 / 3);
  EXPECT_EQ(e.hbm_write.value, bytes / 3);
  EXPECT_EQ(e.bound, Bound::kHbmRead);
}

TEST(ScratchpadModel, OverlapsReadsAndWritesOnAFullDuplexMemory) {
  hwdesc::Device duplex = round_device();
  duplex.memory[0].full_duplex = true;
  const double tile_s = 64 * 1024 * 4 / kBandwidth;
  const double expected = 2 * tile_s + 31 * 2 * tile_s + addition_s(64) + tile_s;
  EXPECT_NEAR(estimate(addition(64 * 32), rows_of_8(8), duplex).time.value, expected,
              1e-9 * expected);
}

TEST(ScratchpadModel, PaysLatencyAtBothEndsAndHidesItInBetween) {
  hwdesc::Device far = round_device();
  far.memory[0].latency = Seconds{4e-6};
  const ir::Kernel k = addition(64 * 32);
  const double near_s = estimate(k, rows_of_8(8)).time.value;
  EXPECT_NEAR(estimate(k, rows_of_8(8), far).time.value, near_s + 8e-6, 1e-9 * near_s);
  // A tile too small to hide latency waits (latency + load + use) / stages per iteration.
  const double row_s = 8 * 1024 * 4 / kBandwidth;
  const double period = (4e-6 + 2 * row_s + addition_s(8)) / 2;
  ASSERT_GT(period, 3 * row_s);
  const double expected = 8e-6 + 3 * row_s + addition_s(8) + 255 * period;
  EXPECT_NEAR(estimate(k, rows_of_8(1), far).time.value, expected, 1e-9 * expected);
}

// Besides adding, the core issues 3 transfers and one loop step per iteration; this is hidden if
// the engine is busy for longer, except before the first load and after the last.
TEST(ScratchpadModel, IssuesTransfersAndLoopsOnTheCore) {
  const ir::Kernel k = addition(64 * 32);
  const double base = estimate(k, rows_of_8(8)).time.value;
  const double path = 3.0 * 64 * 1024 * 4 / kBandwidth;
  for (const double setup : {100e-9, 5e-6}) {
    hwdesc::Device slow = round_device();
    slow.engines[0].setup = Seconds{setup};
    slow.engines[0].iteration_overhead = Seconds{50e-9};
    const double issue = 3 * setup + 50e-9;
    const double longer = std::max(path, addition_s(64) + issue) - path;
    EXPECT_NEAR(estimate(k, rows_of_8(8), slow).time.value, base + 31 * longer + issue, 1e-9 * base)
        << setup;
  }
}

// f32[64,1024] is stored as 8 rows of 8 native tiles of 4 KiB.
TEST(ScratchpadModel, PaysForEveryContiguousRun) {
  constexpr double kNativeTile = 8 * 128 * 4;
  hwdesc::Device device = round_device();
  device.engines[0].full_efficiency_run = Bytes{kNativeTile};
  const auto slower = [&](const TileConfig& tile) {
    const ir::Kernel k = addition(64);
    return bound(estimate(k, tile, device), Bound::kHbmWrite) /
           bound(estimate(k, tile), Bound::kHbmWrite);
  };
  const TileConfig column{.output = {8, 1}, .kernel = {}, .input = {}};
  const TileConfig row{.output = {1, 8}, .kernel = {}, .input = {}};
  EXPECT_NEAR(slower(column), (kNativeTile + kNativeTile) / kNativeTile, 1e-9);
  EXPECT_NEAR(slower(row), (8 * kNativeTile + kNativeTile) / (8 * kNativeTile), 1e-9);
}

// 8 of 16 planes of f32[16,16,1024], 8 of their 16 rows: a tile of a plane is in every 16th row.
TEST(ScratchpadModel, TakesUpOneDescriptorAfterTheOther) {
  const std::string shape = array("f32", {16, 64, 1024});
  const ir::Kernel k = kernel_of(fusion({shape}, shape, "  ROOT r = " + shape + " negate(p0)"));
  const TileConfig tile{.output = {16, 4, 4}, .kernel = {}, .input = {}};  // rows and lanes tiled
  const double bytes = 16 * 32 * 512 * 4;
  for (const double each : {1e-9, 1e-3}) {
    hwdesc::Device device = round_device();
    device.engines[0].descriptor_strides = 1;
    device.engines[0].descriptor = Seconds{each};
    const double expected = 3 * std::max(bytes / kBandwidth, (16 - 1) * each);
    EXPECT_NEAR(bound(estimate(k, tile, device), Bound::kHbmRead), expected, 1e-9 * expected);
    device.engines[0].descriptor_strides = 2;
    EXPECT_NEAR(bound(estimate(k, tile, device), Bound::kHbmRead), 3 * bytes / kBandwidth, 1e-12);
  }
}

// p0 + exp(max over the columns): load, maximum, lanes, exponential, addition.
TEST(ScratchpadModel, TakesNoLessThanTheChainOfDependentOperations) {
  const std::string in = array("f32", {8, 128});
  const std::string out = array("f32", {8});
  const ir::Kernel k =
      kernel_of(fusion({in}, out,
                       "  c = f32[] constant(0)\n  m = " + out +
                           " reduce(p0, c), dimensions={1}, to_apply=adder\n  e = " + out +
                           " exponential(m)\n  ROOT r = " + out + " add(e, e)"));
  hwdesc::Device device = round_device();
  const TileConfig tile = full_tile(ScratchpadModel(k, device).space());
  const Estimate free = estimate(k, tile, device);
  device.memory[1].latency = Seconds{100 / kClock};
  device.vector.latency = Cycles{20};
  device.transcendental.latency = Cycles{300};
  device.cross_lane.latency = Cycles{5000};
  const double chain = 100 + 20 + 5000 + 300 + 20;
  const double busy = 8.0 * 128 / 1024;  // cycles of the reduction, the busiest unit
  const Estimate e = estimate(k, tile, device);
  EXPECT_NEAR(e.time.value - free.time.value, (chain - busy) / kClock, 1e-12);
  EXPECT_NEAR(bound(e, Bound::kLatency), (chain - busy) / kClock, 1e-12);
  EXPECT_EQ(e.bound, Bound::kLatency);
}

TEST(ScratchpadModel, PaysForEveryTransfer) {
  constexpr double kMore = 16384;
  hwdesc::Device device = round_device();
  device.engines[0].full_efficiency_transfer = Bytes{kMore};
  const ir::Kernel k = addition(64 * 32);
  for (const std::int64_t rows : {8, 64}) {
    const double transfers = 3.0 * 64 * 32 / static_cast<double>(rows);
    EXPECT_NEAR(estimate(k, rows_of_8(rows / 8), device).time.value,
                estimate(k, rows_of_8(rows / 8)).time.value + transfers * kMore / kBandwidth, 1e-12)
        << rows;
  }
}

// Groups of rows, each multiplied by its own matrix: bf16[rows,256] x bf16[groups,256,128].
ir::Kernel grouped_product(std::int64_t rows, std::int64_t groups) {
  return kernel_of("HloModule m\nENTRY main {\n  a = " + array("bf16", {rows, 256}) +
                   " parameter(0)\n  b = " + array("bf16", {groups, 256, 128}) +
                   " parameter(1)\n  sizes = s32[" + std::to_string(groups) +
                   "] parameter(2)\n  ROOT c = " + array("bf16", {rows, 128}) +
                   " ragged-dot(a, b, sizes), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
                   "lhs_ragged_dims={0}, rhs_group_dims={0}\n}\n");
}

TEST(ScratchpadModel, GroupedProductsComputeATileAgainForEveryGroupThatEndsInIt) {
  constexpr std::int64_t kTileRows = 64;
  const TileConfig tile{.output = {kTileRows / 8, 1}, .kernel = {}, .input = {}};
  for (const std::int64_t rows : {2048, 2000}) {
    const double tiles = std::ceil(static_cast<double>(rows) / kTileRows);
    const Estimate one = estimate(grouped_product(rows, 1), tile);
    const Estimate many = estimate(grouped_product(rows, 5), tile);
    EXPECT_EQ(one.iterations, tiles);
    EXPECT_EQ(many.iterations, tiles + 5 - 1);
    // Two blocks of weights, one per array; loading them takes longer than pushing 64 rows.
    const double step_s = 128 / kClock;
    EXPECT_NEAR(bound(many, Bound::kMatrix) - bound(one, Bound::kMatrix), (5 - 1) * step_s, 1e-12);
    // Every group's operand is read once, rows and results once as without groups.
    EXPECT_NEAR(many.hbm_read.value - one.hbm_read.value, (5 - 1) * 256 * 128 * 2.0, 4096);
    EXPECT_EQ(many.hbm_write.value, one.hbm_write.value);
    const TileConfig cut{.output = tile.output, .kernel = {1, 16, 1}, .input = {}};
    EXPECT_EQ(estimate(grouped_product(rows, 5), cut).iterations, (tiles + 5 - 1) * 2);
  }
}

TEST(ScratchpadModel, OneGroupIsAProductAndFewRowsHaveFewGroups) {
  const std::string a = array("bf16", {512, 256}), b = array("bf16", {256, 128});
  const ir::Kernel plain =
      kernel_of("HloModule m\nENTRY main {\n  a = " + a + " parameter(0)\n  b = " + b +
                " parameter(1)\n  ROOT c = " + array("bf16", {512, 128}) +
                " dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
  const TileConfig tile{.output = {8, 1}, .kernel = {}, .input = {}};
  const double one_s = estimate(plain, tile).time.value;
  EXPECT_NEAR(estimate(grouped_product(512, 1), tile).time.value, one_s, 0.01 * one_s);
  EXPECT_EQ(estimate(grouped_product(8, 64), {}).iterations, 8);
}

TEST(ScratchpadModel, MovesNothingForOperandsInTheScratchpad) {
  const Estimate e = estimate(addition(64 * 32, "S(1)"), rows_of_8(8));
  EXPECT_EQ(e.hbm_read.value, 64.0 * 32 * 1024 * 4);
}

TEST(ScratchpadModel, MovesOnlyWhatExistsOfEdgeTiles) {
  for (const std::int64_t rows : {72, 136, 200, 2040}) {
    const double bytes = static_cast<double>(rows) * 1024 * 4;
    const Estimate e = estimate(addition(rows), rows_of_8(8));
    EXPECT_NEAR(e.hbm_read.value, 2 * bytes, 1e-9 * bytes) << rows;
    EXPECT_NEAR(e.hbm_write.value, bytes, 1e-9 * bytes) << rows;
  }
}

TEST(ScratchpadModel, MovesOnlyWhatExistsWhereTwoDimensionsAreRagged) {
  const ir::Kernel k = addition(200);
  const TileConfig tile{.output = {8, 3}, .kernel = {}, .input = {}};
  const Estimate e = estimate(k, tile);
  EXPECT_NEAR(e.hbm_write.value, 200.0 * 1024 * 4, 1.0);
}

ir::Kernel matmul(std::int64_t m, std::int64_t k, std::int64_t n) {
  const std::string result = array("bf16", {m, n});
  return kernel_of(fusion(
      {array("bf16", {m, k}), array("bf16", {k, n})}, result,
      "  ROOT r = " + result + " dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
}

TEST(ScratchpadModel, LoadsWeightsOnceAndActivationsOncePerBandOfColumns) {
  const double m = 1024, k = 512, n = 1024;
  const ir::Kernel kernel = matmul(1024, 512, 1024);
  const Estimate e = estimate(kernel, {.output = {16, 2}, .kernel = {}, .input = {}});
  const double bands = n / 256;
  EXPECT_EQ(e.hbm_read.value, 2 * (bands * m * k + k * n));
  EXPECT_EQ(e.hbm_write.value, 2 * m * n);
}

TEST(ScratchpadModel, WritesResultsOnceWhenTheContractionIsSplit) {
  const ir::Kernel kernel = matmul(1024, 512, 1024);
  const Estimate e = estimate(kernel, {.output = {16, 2}, .kernel = {16, 8}, .input = {}});
  EXPECT_EQ(e.iterations, 1024 / 128 * (1024 / 256) * (512 / 128));
  EXPECT_EQ(e.hbm_write.value, 2.0 * 1024 * 1024);
  EXPECT_EQ(e.hbm_read.value, 2.0 * (1024 / 256 * 1024 * 512 + 1024 / 128 * 512 * 1024));
}

TEST(ScratchpadModel, OfALargeMatmulIsItsMatrixCycles) {
  hwdesc::Device d = round_device();
  d.memory[0].bandwidth = BytesPerSecond{1e18};
  const Estimate e =
      estimate(matmul(4096, 512, 1024), {.output = {512, 8}, .kernel = {}, .input = {}}, d);
  const double cycles = 4 * 8 / 2 * 4096 + 128 + 254;
  EXPECT_NEAR(e.time.value, cycles / kClock, 1e-6 * cycles / kClock);
  EXPECT_EQ(e.bound, Bound::kMatrix);
  EXPECT_NEAR(bound(e, Bound::kMatrix), cycles / kClock, 1e-9 * cycles / kClock);
}

// Seconds for filling the matrix unit in a product of 1024 x 512 x 128.
double fill_s(const TileConfig& tile) {
  hwdesc::Device filled = round_device();
  filled.memory[0].bandwidth = BytesPerSecond{1e15};
  hwdesc::Device without = filled;
  without.matrix.fill = Cycles{0};
  const ir::Kernel k = matmul(1024, 512, 128);
  return estimate(k, tile, filled).time.value - estimate(k, tile, without).time.value;
}

TEST(ScratchpadModel, FillsTheMatrixUnitOnceUnlessIterationsAddToOneResult) {
  const double once = round_device().matrix.fill.value / kClock;
  EXPECT_NEAR(fill_s({.output = {16, 1}, .kernel = {64, 1}, .input = {}}), once, 1e-12);
  EXPECT_NEAR(fill_s({.output = {128, 1}, .kernel = {16, 1}, .input = {}}), 4 * once, 1e-12);
}

TEST(ScratchpadModel, MultipliesOnTheVectorUnitWhatTheMatrixUnitCannotTake) {
  const std::string s = array("f64", {512, 512});
  const ir::Kernel k = kernel_of(fusion(
      {s, s}, s,
      "  ROOT r = " + s + " dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
  const Estimate e = estimate(k, {});
  const double busy = 2.0 * 512 * 512 * 512 / (8 * 128 * 2) / kClock;
  EXPECT_EQ(e.bound, Bound::kVector);
  EXPECT_EQ(bound(e, Bound::kMatrix), 0);
  EXPECT_NEAR(bound(e, Bound::kVector), busy, 1e-9 * busy);
}

TEST(ScratchpadModel, HoldsTwoStagesOfWhatIsCutAndOneOfWhatIsNot) {
  const hwdesc::Device device = round_device();
  const ir::Kernel kernel = matmul(1024, 512, 256);
  const ScratchpadModel model(kernel, device);
  const double m = 128, k = 512, n = 256;
  EXPECT_EQ(model.scratchpad_bytes({.output = {16, 2}, .kernel = {}, .input = {}}),
            2 * 2 * m * k + 2 * k * n + 2 * 2 * m * n);
}

TEST(ScratchpadModel, SaysWhyATileDoesNotFit) {
  const ir::Kernel k = addition(8192);
  const hwdesc::Device device = round_device();
  const ScratchpadModel model(k, device);
  const TileConfig whole{};
  EXPECT_THAT(model.infeasible_reason(whole), ::testing::HasSubstr("needs 96.00 MiB of vmem"));
  EXPECT_THAT(model.infeasible_reason(whole), ::testing::HasSubstr("16.00 MiB available"));
  EXPECT_TRUE(std::isinf(model.time_s(whole)));
  EXPECT_EQ(model.infeasible_reason(rows_of_8(8)), "");
}

TEST(ScratchpadModel, SpillsTheExcessTwiceThroughMainMemory) {
  const ir::Kernel k = addition(8192);
  const hwdesc::Device device = round_device();
  const ScratchpadModel model(k, device);
  const double bytes = 3.0 * 8192 * 1024 * 4;
  const double excess = bytes - 16 * 1024 * 1024;
  const double expected = (bytes + 2 * excess) / kBandwidth + addition_s(8192);
  EXPECT_NEAR(model.estimate({}).time.value, expected, 1e-9 * expected);
}

TEST(ScratchpadModel, WritesAReductionOverOuterRowsOnceInFull) {
  const ir::Kernel k =
      kernel_of(fusion({array("f32", {2048, 1024})}, array("f32", {1024}),
                       "  zero = f32[] constant(0)\n  ROOT r = " + array("f32", {1024}) +
                           " reduce(p0, zero), dimensions={0}, to_apply=adder"));
  const Estimate rows = estimate(k, {.output = {8, 8}, .kernel = {}, .input = {}});
  EXPECT_EQ(rows.hbm_write.value, 1024 * 4.0);
  const Estimate both = estimate(k, {.output = {8, 2}, .kernel = {}, .input = {}});
  EXPECT_EQ(both.hbm_write.value, 1024 * 4.0);
  EXPECT_EQ(both.hbm_read.value, 2048 * 1024 * 4.0);
}

TEST(ScratchpadModel, NamesTheBoundThatComesNext) {
  const ir::Kernel k = addition(64 * 32);
  const Estimate e = estimate(k, rows_of_8(8));
  EXPECT_EQ(e.bound, Bound::kHbmRead);
  EXPECT_EQ(e.next_bound, Bound::kHbmWrite);
  EXPECT_LT(e.next_time, e.time);
}

}  // namespace
}  // namespace tilecast::analytical::testing

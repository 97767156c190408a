#include "analytical/block_schedule.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "alcop.h"
#include "analytical/analytical_model.h"
#include "analytical/pipeline.h"
#include "analytical/simt_model.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kLanes = 32, kWordBytes = 4;

hwdesc::Device preset(const std::string& name) {
  return hwdesc::load_device(name);
}

TileConfig scheduled(std::int64_t rows, std::int64_t columns, std::int64_t depth, int stages,
                     int warps) {
  return {.output = {rows, columns},
          .kernel = {depth, columns},
          .input = {},
          .stages = stages,
          .warps = warps};
}

TEST(BlockSchedule, WarpsStandInASquareOverTheTile) {
  const auto grid = [](double rows, double columns, double warps) {
    const WarpGrid found = warp_grid({.rows = rows, .columns = columns, .warps = warps});
    return std::make_pair(found.rows, found.columns);
  };
  EXPECT_EQ(grid(128, 128, 4), std::make_pair(2.0, 2.0));
  EXPECT_EQ(grid(128, 128, 8), std::make_pair(4.0, 2.0));
  EXPECT_EQ(grid(64, 32, 4), std::make_pair(4.0, 1.0));
  EXPECT_EQ(grid(16, 32, 2), std::make_pair(1.0, 2.0));  // an instruction has sixteen rows
  EXPECT_EQ(grid(1, 8, 8), std::make_pair(1.0, 8.0));
}

TEST(BlockSchedule, OccupancyIsTheTightestOfSharedMemoryRegistersAndWarps) {
  const hwdesc::Device device = preset("a100_sxm_40gb");
  constexpr double kShared = 164 * 1024, kRegisters = 256 * 1024, kWarps = 32;
  const BlockSchedule deep{.rows = 128, .columns = 128, .depth = 64, .stages = 4, .warps = 8};
  const BlockOccupancy one = occupancy(deep, device);
  EXPECT_EQ(one.shared_bytes, 4 * (128 + 128) * 64 * 2 + kReservedShared);
  EXPECT_EQ(one.resident, std::floor(kShared / one.shared_bytes));
  EXPECT_EQ(one.limit, "shared memory");

  const BlockSchedule wide{.rows = 128, .columns = 128, .depth = 16, .stages = 1, .warps = 4};
  const BlockOccupancy held = occupancy(wide, device);
  const double accumulators = 128 * 128 / (4 * kLanes);
  EXPECT_GT(held.registers, accumulators + kOwnRegisters);
  EXPECT_EQ(std::fmod(held.registers, 8), 0);
  EXPECT_EQ(held.resident,
            std::floor(kRegisters / (held.registers * kWordBytes * kLanes * wide.warps)));
  EXPECT_EQ(held.limit, "registers");

  const BlockSchedule narrow{.rows = 32, .columns = 32, .depth = 16, .stages = 1, .warps = 8};
  const hwdesc::Device turing = preset("t4");  // 32 warps with 64 Ki registers
  EXPECT_EQ(occupancy(narrow, turing).resident, kWarps / narrow.warps);
  EXPECT_EQ(occupancy(narrow, turing).limit, "warps");
}

// 16 x 16 threads hold 8 x 8 results each: lanes of a warp are 16 columns of two rows.
TEST(BlockSchedule, ThreadsReadTheirRowsAndColumnsInTurnsWhereBanksClash) {
  const hwdesc::Device device = preset("a100_sxm_40gb");
  const double shared = device.scratchpad().bandwidth.value / 108;
  const auto reads = [&](double vector) {  // of all lanes of a warp, per step of the depth
    BlockSchedule block{.rows = 128, .columns = 128, .depth = 32, .warps = 8, .operand_bytes = 4};
    block.on_lanes = true;
    block.threads = {.rows = 16, .columns = 16, .row_vector = vector, .column_vector = vector};
    const BlockStep step = step_of(block, occupancy(block, device), 1e12, device);
    const double written = (128 + 128) * 32 * 4;
    return (step.shared_s * shared - written) / (8 * 32 * 4);
  };
  // Single loads: 16 lanes at a distance of 8 use 4 banks, four lanes each.
  EXPECT_NEAR(reads(1), 32 * (8 * 4 + 8), 1e-9);
  // Loads of four elements serve eight lanes at a time, two per bank.
  EXPECT_NEAR(reads(4), 32 * (8 * 2 + 8), 1e-9);
  EXPECT_NEAR(reads(8), reads(4), 1e-9);  // 16 bytes at most
}

// 32 threads, of which a warp of 64 lanes leaves half idle.
TEST(BlockSchedule, ThreadsFewerThanTheLanesOfAWarpLeaveLanesIdle) {
  const hwdesc::Device device = preset("mi250x");
  BlockSchedule block{.rows = 32, .columns = 1, .depth = 9, .warps = 1, .operand_bytes = 4};
  block.on_lanes = block.direct = true;
  block.threads = {.rows = 32, .columns = 1};
  const BlockOccupancy narrow = occupancy(block, device);
  const BlockStep half = step_of(block, narrow, 1e12, device);
  EXPECT_DOUBLE_EQ(half.matrix_s, 2 * 32 * 9 / 1e12);
  block.lanes = 64;
  const BlockOccupancy wide = occupancy(block, device);
  const BlockStep full = step_of(block, wide, 1e12, device);
  EXPECT_DOUBLE_EQ(full.matrix_s, 2 * half.matrix_s);
  EXPECT_DOUBLE_EQ(full.issue_s, half.issue_s);  // one instruction for twice as many lanes
}

TEST(BlockSchedule, ResultsInMemoryAreReadAndWrittenForEachMultiplyAdd) {
  const hwdesc::Device device = preset("w6600");
  constexpr double kThreads = 64, kResults = 4, kDepth = 9;
  BlockSchedule block{
      .rows = kThreads * kResults, .columns = 1, .depth = kDepth, .warps = 2, .operand_bytes = 4};
  block.on_lanes = block.direct = true;
  block.threads = {.rows = kThreads, .columns = 1};
  block.windows = {.bytes = 0, .reads = kDepth * kResults};
  const BlockOccupancy held = occupancy(block, device);
  const BlockStep kept = step_of(block, held, 1e12, device);
  EXPECT_EQ(kept.result_bytes, 0);
  block.windows.results_in_memory = true;
  const BlockStep step = step_of(block, held, 1e12, device);
  EXPECT_DOUBLE_EQ(step.result_bytes, 2 * kDepth * kResults * kWordBytes * kThreads);
  const double load_unit = 128 * device.clock.value;  // 128 bytes a cycle
  EXPECT_NEAR(step.shared_s - kept.shared_s, step.result_bytes / load_unit, 1e-15);
  const double cycles = 2 * kDepth * kResults * block.warps / device.matrix.count;
  EXPECT_NEAR(step.issue_s - kept.issue_s, cycles / device.clock.value, 1e-15);

  // Every read waits: positions are read one by one, for each result.
  block.windows.ahead = 1 / kResults;
  block.windows.waits = 2;
  const double waited_s = step_of(block, held, 1e12, device).use_s;
  block.windows.waits = 0;
  EXPECT_NEAR(waited_s - step_of(block, held, 1e12, device).use_s,
              kDepth * kResults * 2 * device.memory[1].latency.value, 1e-12);
}

TEST(BlockSchedule, LanesReadHalfTheBytesOfElementsHalfAsLarge) {
  const hwdesc::Device device = preset("t4");
  const auto shared_s = [&](double bytes) {
    const BlockSchedule block{.rows = 64,
                              .columns = 64,
                              .depth = 32,
                              .warps = 8,
                              .operand_bytes = bytes,
                              .on_lanes = true};
    return step_of(block, occupancy(block, device), 1e12, device).shared_s;
  };
  EXPECT_DOUBLE_EQ(shared_s(4), 2 * shared_s(2));
}

TEST(BlockSchedule, BlocksOfKnownThreadsGetTheRegistersThatLetOneFit) {
  const hwdesc::Device device = preset("a100_sxm_40gb");
  BlockSchedule block{.rows = 128, .columns = 128, .depth = 16, .warps = 32, .operand_bytes = 4};
  block.matrices = 4;
  block.threads = {.rows = 32, .columns = 32};
  const BlockOccupancy held = occupancy(block, device);
  EXPECT_EQ(held.registers, 64);  // 64 Ki divided by 1,024 threads
  EXPECT_GT(held.spilled, 0);
  EXPECT_EQ(held.resident, 1);
}

TEST(BlockSchedule, RegistersBeyondThoseOfAThreadSpillToSharedMemory) {
  const hwdesc::Device device = preset("a100_sxm_40gb");
  const BlockSchedule two_warps{.rows = 128, .columns = 256, .depth = 32, .stages = 2, .warps = 2};
  const BlockOccupancy held = occupancy(two_warps, device);
  EXPECT_GT(held.spilled, 128 * 256 / (2 * kLanes) - kMostRegisters);
  BlockOccupancy roomy = held;
  roomy.spilled = 0;
  const double rate = device.matrix_peak("f16").value / device.multiplexing.workers;
  const double shared = device.scratchpad().bandwidth.value / device.multiplexing.workers;
  EXPECT_NEAR(step_of(two_warps, held, rate, device).shared_s -
                  step_of(two_warps, roomy, rate, device).shared_s,
              2 * held.spilled * kWordBytes * kLanes * two_warps.warps / shared, 1e-15);
}

TEST(BlockSchedule, AStepMultipliesWholeInstructionsAndReadsOperandsOncePerWarpBesideIt) {
  const hwdesc::Device device = preset("a100_sxm_40gb");
  const double rate = 1e12, shared = device.scratchpad().bandwidth.value / 108;
  const auto step = [&](const BlockSchedule& schedule) {
    return step_of(schedule, occupancy(schedule, device), rate, device);
  };
  const BlockSchedule block{.rows = 128, .columns = 64, .depth = 32, .stages = 2, .warps = 8};
  EXPECT_DOUBLE_EQ(step(block).matrix_s, 2 * 128 * 64 * 32 / rate);
  const double bytes = (128 * 2 + 64 * 4 + 128 + 64) * 32 * 2;  // 4 x 2 warps; written once
  EXPECT_DOUBLE_EQ(step(block).shared_s, bytes / shared);
  BlockSchedule one_row = block;
  one_row.rows = 1;
  one_row.warps = 1;
  EXPECT_DOUBLE_EQ(step(one_row).matrix_s, 2 * 16 * 64 * 32 / rate);
}

// ALCOP, Table I: T_smem_use is the same bound at the inner level.
TEST(BlockSchedule, UseIsTheInnerPipelineAndTheBarrier) {
  hwdesc::Device device = preset("a100_sxm_40gb");
  const double cycle_s = 1 / device.clock.value;
  const BlockSchedule block{.rows = 64, .columns = 64, .depth = 64, .stages = 2, .warps = 4};
  const double outside_s =
      device.engines.back().iteration_overhead.value + device.scratchpad().latency.value;
  const double slices = 64.0 / 16;
  const auto use_s = [&](double rate) {
    return step_of(block, occupancy(block, device), rate, device).use_s - outside_s;
  };
  // Use is the bound: at its threshold, both branches of the published formula equal pipeline.h.
  const double slow = 1e11;
  EXPECT_NEAR(use_s(slow), 2 * 64 * 64 * 64 / slow, 1e-12);
  // Nothing else is a bound: the unit's latency, once per slice.
  device.memory.back().bandwidth = BytesPerSecond{1e18};
  device.matrix.fill = Cycles{1000};
  const double load_s = device.scratchpad().latency.value, unit_s = 1000 * cycle_s;
  const double published = load_use_loop_s(load_s, unit_s, slices, 2, 1);
  EXPECT_NEAR(use_s(1e18), published, 1e-9 * published);
}

TEST(ScheduledProduct, MoreBuffersHideLatencyUntilResourcesBind) {
  const hwdesc::Device device = preset("a100_sxm_40gb");
  const ir::Kernel kernel = product_kernel(4096, 4096, 4096);
  const KernelAnalysis analysis(kernel, device);
  const auto time_s = [&](int stages) {
    return analysis.time(scheduled(128, 128, 32, stages, 8)).value;
  };
  EXPECT_GT(time_s(1), 1.5 * time_s(2));  // measured on an A100: 1.9 to 2.1
  EXPECT_LT(time_s(2), 1.2 * time_s(3));
}

TEST(ScheduledProduct, LargeTilesWinLargeProductsAndSmallOnesSmallProducts) {
  const hwdesc::Device device = preset("a100_sxm_40gb");
  const auto ratio = [&](std::int64_t size) {
    const ir::Kernel kernel = product_kernel(size, size, 1024);
    const KernelAnalysis analysis(kernel, device);
    return analysis.time(scheduled(32, 32, 32, 3, 2)) /
           analysis.time(scheduled(128, 128, 32, 3, 4));
  };
  EXPECT_GT(ratio(8192), 2);
  EXPECT_LT(ratio(256), 1);
}

TEST(ScheduledProduct, WhatCannotRunIsRefusedWithTheLimit) {
  const hwdesc::Device device = preset("a100_sxm_40gb");
  const ir::Kernel kernel = product_kernel(4096, 4096, 4096);
  const KernelAnalysis analysis(kernel, device);
  const auto reason = [&](const TileConfig& tile) {
    const auto answer = analysis.estimate(tile);
    const auto* infeasible = std::get_if<Infeasible>(&answer);
    return infeasible == nullptr ? std::string() : infeasible->reason;
  };
  EXPECT_THAT(reason(scheduled(128, 256, 64, 4, 8)), HasSubstr("out of shared memory"));
  EXPECT_THAT(reason(scheduled(128, 128, 32, 3, 64)), HasSubstr("64 warps, 32 at most"));
  EXPECT_EQ(reason(scheduled(128, 128, 32, 3, 4)), "");
  EXPECT_TRUE(std::isinf(analysis.time(scheduled(128, 256, 64, 4, 8)).value));

  const ir::Kernel sum = chain_kernel(64, 64, 1);
  const TileConfig with_warps{.output = {64, 64}, .kernel = {}, .input = {}, .warps = 4};
  const auto answer = KernelAnalysis(sum, device).estimate(with_warps);
  ASSERT_TRUE(std::holds_alternative<Infeasible>(answer));
}

TEST(ScheduledProduct, ExplanationsAddUpAndNothingThatIsFreeMakesItSlower) {
  const hwdesc::Device device = preset("h100_sxm");
  std::mt19937_64 random(1);
  const auto power = [&](int least, int most) {
    return std::int64_t{1} << std::uniform_int_distribution<>(least, most)(random);
  };
  for (int i = 0; i < 2000; ++i) {
    const ir::Kernel kernel =
        product_kernel(power(4, 13) + power(0, 6), power(4, 13), power(4, 12));
    const SimtModel model(kernel, device);
    const TileConfig tile = scheduled(power(4, 8), power(4, 8), power(4, 7),
                                      static_cast<int>(power(0, 2)), static_cast<int>(power(0, 4)));
    const Accounting all = model.account(tile, 0);
    ASSERT_TRUE(std::isfinite(all.total_s) && all.total_s > 0) << to_string(tile);
    const double sum = std::accumulate(all.bound_time.begin(), all.bound_time.end(), 0.0);
    ASSERT_NEAR(sum, all.total_s, 1e-9 * all.total_s) << to_string(tile);
    for (std::size_t b = 0; b < kBoundCount; ++b) {
      const Accounting without = model.account(tile, mask_of(static_cast<Bound>(b)));
      ASSERT_LE(without.total_s, all.total_s * (1 + 1e-12)) << to_string(tile) << ", bound " << b;
    }
  }
}

// In random order, with tiles without stages and warps between them.
TEST(ScheduledProduct, ManyTilesAtOnceTakeTheTimesTheyTakeOneByOne) {
  std::mt19937_64 random(2);
  for (const char* name : {"a100_sxm_40gb", "t4", "h100_sxm"}) {
    const hwdesc::Device device = preset(name);
    const ir::Kernel kernel = product_kernel(3000, 4096, 1000);
    const KernelAnalysis analysis(kernel, device);
    std::vector<TileConfig> tiles;
    for (const std::int64_t rows : {16, 64, 96, 256}) {
      for (const std::int64_t depth : {32, 128}) {
        for (const int stages : {0, 1, 4}) {
          for (const int warps : {0, 3, 8, 64}) {
            tiles.push_back(scheduled(rows, 128, depth, stages, warps));
            tiles.push_back(scheduled(rows, 128, depth, stages, 0));
            tiles.back().threads = {8, warps == 3 ? 32 : 16};
          }
        }
      }
    }
    for (int round = 0; round < 2; ++round) {
      const std::vector<double> times = analysis.times_s(tiles);
      for (std::size_t i = 0; i < tiles.size(); ++i) {
        ASSERT_EQ(times[i], analysis.time(tiles[i]).value) << name << ", " << to_string(tiles[i]);
        if (std::isinf(times[i])) continue;
        const Accounting explained = SimtModel(kernel, device).account(tiles[i], 0);
        ASSERT_EQ(times[i], explained.total_s) << name << ", " << to_string(tiles[i]);
      }
      std::ranges::shuffle(tiles, random);
    }
  }
}

// A tile of other dimensions cannot run, and its neighbours take the times that they take alone.
TEST(ScheduledProduct, MalformedTilesAmongOthersTakeForEver) {
  const ir::Kernel kernel = product_kernel(512, 512, 512);
  for (const char* name : {"tpu_v3", "h100_sxm", "cpu_generic"}) {
    const hwdesc::Device device = preset(name);
    const KernelAnalysis analysis(kernel, device);
    const TileConfig good = analysis.estimate_best().tile;
    TileConfig short_one = good, empty = good;
    short_one.output.pop_back();
    empty.kernel.clear();
    const std::vector<TileConfig> tiles = {short_one, good, good, empty, short_one, good};
    const std::vector<double> times = analysis.times_s(tiles);
    ASSERT_EQ(times.size(), tiles.size());
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      EXPECT_EQ(times[i], analysis.time(tiles[i]).value) << name << ", " << i;
    }
    EXPECT_TRUE(std::isinf(times[0]) && std::isinf(times[4])) << name;
    EXPECT_TRUE(std::isfinite(times[1])) << name;
  }
}

// Windows of 3 x 3: neighbouring results of a thread share inputs.
TEST(ScheduledProduct, ThreadsOfAConvolutionReadWhatTheirWindowsShareOnce) {
  hwdesc::Device device = preset("a100_sxm_40gb");
  device.memory[1].bandwidth = BytesPerSecond{1e18};  // the shared cache
  const ir::Kernel kernel = convolution_kernel({.side = 4096});
  const KernelAnalysis analysis(kernel, device);
  const auto on_chip_s = [&](std::int64_t rows, std::int64_t down, bool direct) {
    const TileConfig tile{.output = {1, rows, 64, 1},
                          .kernel = {},
                          .input = {},
                          .stages = 1,
                          .threads = {1, down, 64, 1},
                          .direct = direct};
    const Accounting account = SimtModel(kernel, device).account(tile, 0);
    EXPECT_EQ(account.total_s, analysis.time(tile).value);
    return account.busy[index_of(Bound::kOnChip)];
  };
  // Four results in adjacent rows read six rows of input instead of twelve; at distance four,
  // twelve.
  EXPECT_NEAR(on_chip_s(16, 4, true) / on_chip_s(4, 1, true), 12.0 / 6, 0.1);
  EXPECT_GT(on_chip_s(4, 1, false), on_chip_s(4, 1, true));  // copies are also written
  // A tile that extends beyond the edge: reads are guarded, and none are shared.
  EXPECT_NEAR(on_chip_s(12, 3, true) / on_chip_s(12, 3, false), 1, 0.3);
}

// Guards that are branches only cost time in tiles that extend beyond the edge: if a thread has
// several results, they stay in memory; operands that are not copied are waited for.
TEST(ScheduledProduct, BranchesOfGuardsCostOnlyTilesThatStandOutOverTheEdge) {
  const hwdesc::Device branches = preset("w6600");
  hwdesc::Device predicates = branches;
  predicates.multiplexing.guards_branch = false;
  const ir::Kernel kernel = convolution_kernel({.side = 4096});
  const KernelAnalysis branching(kernel, branches), predicated(kernel, predicates);
  std::mt19937 random(11);
  const auto draw = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(1, most)(random);
  };
  int guarded = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t down = draw(4), along = 16 * draw(4), rows = draw(4), columns = draw(4);
    const TileConfig tile{.output = {1, down * rows, along * columns, 1},
                          .kernel = {},
                          .input = {},
                          .stages = 1,
                          .threads = {1, down, along, 1},
                          .direct = i % 2 == 0};
    const double with = branching.time(tile).value, without = predicated.time(tile).value;
    const bool whole = 4096 % (down * rows) == 0 && 4096 % (along * columns) == 0;
    if (whole) {
      EXPECT_DOUBLE_EQ(with, without) << to_string(tile);
    } else if (rows * columns > 1 || tile.direct) {
      EXPECT_GT(with, without) << to_string(tile);
      ++guarded;
    }
  }
  EXPECT_GT(guarded, 100);
}

TEST(ScheduledProduct, StagesAndWarpsArePartOfTheTilesText) {
  const TileConfig tile = scheduled(128, 64, 32, 3, 4);
  EXPECT_EQ(to_string(tile), "out=128x64 kernel=32x64 stages=3 warps=4");
  EXPECT_EQ(parse_tile(to_string(tile)), tile);
  TileConfig threads = scheduled(128, 64, 32, 0, 0);
  threads.threads = {16, 8};
  threads.vector = {1, 4};
  threads.direct = true;
  EXPECT_EQ(to_string(threads), "out=128x64 kernel=32x64 threads=16x8 vector=1x4 direct=1");
  EXPECT_EQ(parse_tile(to_string(threads)), threads);
  EXPECT_THAT(tile_mismatch(threads, {.output = {8, 8, 8}, .kernel = {8, 8}, .input = {}}),
              HasSubstr("output tile has 2 dimensions"));
  threads.threads = {16};
  EXPECT_THAT(tile_mismatch(threads, scheduled(128, 64, 32, 0, 0)),
              HasSubstr("threads tile has 1 dimensions"));
  EXPECT_THROW((void)parse_tile("out=8 stages=3x4"), tilecast::Error);
  EXPECT_THROW((void)parse_tile("out=8 warps=2000"), tilecast::Error);
}

}  // namespace
}  // namespace tilecast::analytical::testing

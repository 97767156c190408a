// Limiting cases of the cache model, as formulas in the numbers of core_device().
#include "analytical/cache_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "analytical/analytical_model.h"
#include "analytical/reuse.h"
#include "analytical/roofline.h"
#include "analytical/simt_launch.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr double kMemory = 10e9, kL2 = 100e9;  // B/s of core_device()
constexpr double kWord = 4;
constexpr double kRounding = 1e-9;
constexpr std::size_t kTiles = 1500;

double seconds(const Estimate& estimate, Bound bound) {
  return estimate.bounds[index_of(bound)].value;
}

TileConfig cut(ir::Dims output) {
  return {.output = std::move(output), .kernel = {}, .input = {}};
}

TEST(CacheModel, AContiguousAddTakesItsBytesOverTheBandwidth) {
  hwdesc::Device device = core_device();
  device.memory[0].write_bandwidth = BytesPerSecond{kMemory / 2};
  device.memory[0].efficiency = 0.8;
  const double array = kWord * 1024 * 1024;
  const ir::Kernel kernel = chain_kernel(1024, 1024, 1);
  const Estimate estimate = CacheModel(kernel, device).estimate(cut({8, 1024}));
  const double expected = (2 * array / kMemory + array / (kMemory / 2)) / 0.8;
  EXPECT_NEAR(estimate.time.value, expected, kRounding * expected);
  EXPECT_DOUBLE_EQ(estimate.hbm_read.value, 2 * array);
  EXPECT_DOUBLE_EQ(estimate.hbm_write.value, array);
}

TEST(CacheModel, BytesInFlightOverLatencyLimitBandwidthPerCore) {
  hwdesc::Device device = core_device();
  device.memory[0].latency = Seconds{1e-6};
  device.engines[0].in_flight = Bytes{1000};  // 1 GB/s
  const double array = kWord * 1024 * 1024;
  const ir::Kernel kernel = chain_kernel(1024, 1024, 1);
  const auto read_s = [&] {
    return seconds(CacheModel(kernel, device).estimate(cut({8, 1024})), Bound::kHbmRead);
  };
  EXPECT_NEAR(read_s(), 2 * array / 1e9, kRounding);
  device.multiplexing.workers = 4;
  EXPECT_NEAR(read_s(), 2 * array / 4e9, kRounding);
  device.multiplexing.workers = 40;  // more than the memory can serve
  EXPECT_NEAR(read_s(), 2 * array / kMemory, kRounding);
}

TEST(CacheModel, NeighbouringSmallTilesShareLines) {
  const double array = kWord * 1024 * 1024;
  const ir::Kernel kernel = chain_kernel(1024, 1024, 1);
  const hwdesc::Device core = core_device();
  const hwdesc::Device generic = hwdesc::load_device("cpu_generic");
  for (const std::int64_t columns : {1, 8, 64}) {  // up to four lines
    const Estimate round = CacheModel(kernel, core).estimate(cut({1, columns}));
    EXPECT_DOUBLE_EQ(round.hbm_read.value, 2 * array) << columns;
    EXPECT_DOUBLE_EQ(round.hbm_write.value, array) << columns;
  }
  const Estimate estimate = CacheModel(kernel, generic).estimate(cut({1, 8}));
  EXPECT_NEAR(estimate.hbm_read.value, 2 * array, 0.01 * array);
}

TEST(CacheModel, EveryRunCostsItsBytes) {
  hwdesc::Device device = core_device();
  device.memory[1].capacity = device.memory[2].capacity = Bytes{6 * 1024};  // less than a sweep
  const ir::Kernel kernel = chain_kernel(1024, 64 * 1024, 1);
  const TileConfig tile = cut({1, 256});
  const double whole = seconds(CacheModel(kernel, device).estimate(tile), Bound::kHbmRead);
  const double cost = 256;
  device.engines[0].full_efficiency_run = Bytes{cost};
  const Estimate with_runs = CacheModel(kernel, device).estimate(tile);
  const double rows = 1024;
  EXPECT_NEAR(seconds(with_runs, Bound::kHbmRead) - whole, 2 * rows * cost / kMemory,
              1e-6 * whole);  // tiles of a row are adjacent
  EXPECT_NEAR(with_runs.hbm_read.value, whole * kMemory, 1e-6 * whole * kMemory);  // only the bytes
}

// With tiles along rows and depth, every tile of rows reads all slices of the weights again. A
// sweep of the weights fits L2 but not L1: the first read is from memory, later ones from L2.
TEST(CacheModel, WeightsReadAgainForEveryTileOfRowsComeFromL2) {
  const double rows = 512, columns = 128, depth = 1024, slice = 64;
  const ir::Kernel kernel = product_kernel(512, 128, 1024, ir::DType::kF32);
  const hwdesc::Device device = core_device();
  const CacheModel model(kernel, device);
  double before = 0;
  for (const std::int64_t tile_rows : {32, 16, 8}) {
    const Estimate estimate =
        model.estimate({.output = {tile_rows, 128}, .kernel = {64, 128}, .input = {}});
    const double again = rows / static_cast<double>(tile_rows) - 1;
    const double expected = again * depth / slice * (slice * columns * kWord) / kL2;
    EXPECT_NEAR(seconds(estimate, Bound::kOnChip), expected, 1e-6 * expected) << tile_rows;
    const double arrays = kWord * (rows * depth + depth * columns);
    EXPECT_NEAR(estimate.hbm_read.value, arrays, kRounding * arrays);
    EXPECT_GT(estimate.time.value, before) << tile_rows;
    before = estimate.time.value;
  }
  const TileConfig uncut{.output = {8, 128}, .kernel = {}, .input = {}};
  hwdesc::Device large = device;
  large.memory[2].capacity = Bytes{4e6};
  const Estimate once = CacheModel(kernel, large).estimate(uncut);
  EXPECT_NEAR(seconds(once, Bound::kOnChip), 0, 1e-12);  // stays where it was packed
}

TEST(CacheModel, AScratchpadLargerThanTheInnermostCacheGoesThroughTheOneBehind) {
  hwdesc::Device device = core_device();
  device.memory.push_back(device.memory[2]);
  device.engines.resize(3);
  device.memory[3].capacity = Bytes{32.0 * 1024};
  const ir::Kernel kernel = chain_kernel(1024, 1024, 1);
  const CacheModel model(kernel, device);
  const auto on_chip = [&](std::int64_t rows) {
    return seconds(model.estimate(cut({rows, 1024})), Bound::kOnChip);
  };
  EXPECT_NEAR(on_chip(1), 0, 1e-12);  // 16 KiB with both buffers
  const double array = kWord * 1024 * 1024, behind = 1e12;
  const auto missed = [&](double rows) {
    return repeated_miss_share(device.memory[3].capacity.value, 2 * 2 * kWord * 1024 * rows);
  };
  // Fetched, written back, fetched again.
  EXPECT_NEAR(on_chip(8), missed(8) * 2 * array * 3 / behind, 1e-12);
  device.memory[3].ways = 8;  // three arrays stream through three ways
  const double left = device.memory[3].capacity.value * 5 / 8;
  EXPECT_NEAR(seconds(CacheModel(kernel, device).estimate(cut({2, 1024})), Bound::kOnChip),
              repeated_miss_share(left, 2 * 2 * kWord * 1024 * 2) * 2 * array * 3 / behind, 1e-12);
}

// A prefetcher continues to the end of a page: for consecutive windows of w bytes, it has fetched
// the fraction 1 - w / (2 page) in advance, or 1 / 2 page / w for longer windows.
TEST(CacheModel, WindowsThatFollowEachOtherAreFetchedWhileTheCoreWorks) {
  hwdesc::Device device = core_device();
  const ir::Kernel kernel = chain_kernel(1024, 1024, 8);
  device.vector.alus = 1;
  constexpr double kPage = 4096;
  for (const double elements : {512.0, 1024.0, 2048.0}) {
    const TileConfig tile = cut({static_cast<std::int64_t>(std::max(1.0, elements / 1024)),
                                 static_cast<std::int64_t>(std::min(elements, 1024.0))});
    device.engines.front().prefetch = Bytes{0};
    const Estimate in_turn = CacheModel(kernel, device).estimate(tile);
    device.engines.front().prefetch = Bytes{kPage};
    const Estimate ahead = CacheModel(kernel, device).estimate(tile);
    const double window = kWord * elements, tiles = 1024 * 1024 / elements;
    const double share =
        (1 - 1 / tiles) * (window <= kPage ? 1 - window / (2 * kPage) : kPage / (2 * window));
    const double memory = seconds(in_turn, Bound::kHbmRead) + seconds(in_turn, Bound::kHbmWrite);
    const double core = in_turn.time.value - memory - seconds(in_turn, Bound::kLatency) -
                        device.dispatch.kernel_launch.value;
    const double beside = (in_turn.hbm_read.value + in_turn.hbm_write.value) / 10e9;
    const double saved = in_turn.time.value - ahead.time.value;
    EXPECT_NEAR(saved, share * (memory + core - std::max(beside, core)), 1e-9 * in_turn.time.value)
        << elements;
  }
}

TEST(CacheModel, RowsReducedBeforeUseAreReadWholeWhateverTheTile) {
  hwdesc::Device device = core_device();
  const ir::Kernel kernel = centred_kernel(1024, 4096, 1);
  const auto time_s = [&](std::int64_t columns) {
    return CacheModel(kernel, device).time_s(cut({1, columns}));
  };
  const double whole = time_s(4096);
  EXPECT_GT(whole, 2 * kWord * 1024 * 4096 / kMemory * (1 - kRounding));
  EXPECT_DOUBLE_EQ(time_s(512), whole);
  const double overhead = 1e-7;
  device.engines.back().iteration_overhead = Seconds{overhead};
  EXPECT_NEAR(time_s(4096), whole + 1024 * overhead, kRounding * whole);
  EXPECT_NEAR(time_s(512), whole + 8 * 1024 * overhead, kRounding * whole);
}

TEST(CacheModel, HalvingATileNeverHasLessOverhead) {
  hwdesc::Device device = hwdesc::load_device("cpu_generic");
  device.engines.back().iteration_overhead = Seconds{1e-8};
  device.engines.front().prefetch = Bytes{0};  // it would hide a part
  const ir::Kernel kernel = chain_kernel(1024, 1024, 1);
  const CacheModel model(kernel, device);
  const auto overhead_s = [&](std::int64_t rows, std::int64_t columns) {
    return seconds(model.estimate(cut({rows, columns})), Bound::kOverhead);
  };
  const double launch = device.dispatch.kernel_launch.value;
  EXPECT_NEAR(overhead_s(1024, 1024), launch + 1e-8, 1e-15);
  EXPECT_NEAR(overhead_s(128, 1024), launch + 1e-8, 1e-15);  // 8 tiles on 8 cores
  EXPECT_NEAR(overhead_s(64, 1024), launch + 2e-8, 1e-15);
  for (std::int64_t rows = 1; rows <= 1024; rows *= 2) {
    for (std::int64_t columns = 2; columns <= 1024; columns *= 2) {
      EXPECT_GE(overhead_s(rows, columns / 2), overhead_s(rows, columns)) << rows << " " << columns;
      EXPECT_GE(overhead_s(columns / 2, rows), overhead_s(columns, rows)) << rows << " " << columns;
    }
  }
}

TEST(CacheModel, TilesAreDealtToWholeCores) {
  hwdesc::Device device = core_device();
  device.vector.alus = 1;
  const ir::Kernel kernel = chain_kernel(1024, 1024, 1);
  const auto vector_s = [&](int workers, std::int64_t rows) {
    device.multiplexing.workers = workers;
    return seconds(CacheModel(kernel, device).estimate(cut({rows, 1024})), Bound::kVector);
  };
  const double alone = 1024.0 * 1024 / 8 * 1e-9;
  EXPECT_NEAR(vector_s(1, 128), alone, kRounding * alone);
  EXPECT_NEAR(vector_s(8, 128), alone / 8, kRounding * alone);
  EXPECT_NEAR(vector_s(7, 128), alone * 2 / 8, kRounding * alone);  // one core has two of eight
  EXPECT_NEAR(vector_s(8, 1024), alone, kRounding * alone);
}

TEST(CacheModel, LoadsAndStoresOfTheUnitsAreDealtToCoresToo) {
  hwdesc::Device device = core_device();
  device.vector.store_ports = 0.01;
  const ir::Kernel kernel = chain_kernel(1024, 1024, 1);
  const auto on_chip_s = [&](int workers) {
    device.multiplexing.workers = workers;
    return seconds(CacheModel(kernel, device).estimate(cut({8, 1024})), Bound::kOnChip);
  };
  const double alone = on_chip_s(1);
  EXPECT_GT(alone, 0);
  EXPECT_NEAR(on_chip_s(8), alone / 8, kRounding * alone);
}

TEST(CacheModel, ATileLargerThanTheCacheOfACoreIsInfeasibleAndSaysSo) {
  const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  const hwdesc::MemoryLevel& cache = worker_memory(device);
  int infeasible = 0;
  for (const auto& [name, kernel] : cache_kernels()) {
    const CacheModel model(kernel, device);
    for (const TileConfig& tile : model.candidates(kTiles)) {
      const bool fits = model.scratchpad_bytes(tile) <= cache.capacity.value;
      EXPECT_EQ(std::isfinite(model.time_s(tile)), fits) << name << " " << to_string(tile);
      const std::string reason = model.infeasible_reason(tile);
      EXPECT_EQ(reason.empty(), fits) << name << " " << to_string(tile) << " " << reason;
      if (fits) continue;
      EXPECT_NE(reason.find("KiB of " + cache.name), std::string::npos) << reason;
      ++infeasible;
    }
  }
  EXPECT_GT(infeasible, 0);
}

TEST(CacheModel, BoundsAddUpToTheTime) {
  const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  for (const auto& [name, kernel] : cache_kernels()) {
    const CacheModel model(kernel, device);
    int compared = 0;
    for (const TileConfig& tile : model.candidates(kTiles)) {
      const double time_s = model.time_s(tile);
      if (!std::isfinite(time_s)) continue;
      const Estimate estimate = model.estimate(tile);
      EXPECT_DOUBLE_EQ(estimate.time.value, time_s) << name << " " << to_string(tile);
      double sum = 0;
      for (const Seconds& part : estimate.bounds) {
        EXPECT_GE(part.value, 0) << name << " " << to_string(tile);
        sum += part.value;
      }
      EXPECT_NEAR(sum, time_s, kRounding * time_s) << name << " " << to_string(tile);
      EXPECT_NEAR(estimate.next_time.value, sum - seconds(estimate, estimate.bound),
                  kRounding * time_s);
      EXPECT_GE(seconds(estimate, estimate.bound), seconds(estimate, estimate.next_bound));
      EXPECT_GE(time_s, model.iterations(tile) * model.least_iteration_s());
      ++compared;
    }
    EXPECT_GT(compared, 0) << name;
  }
}

// Without the lower bound that KernelAnalysis::estimate applies to every estimate.
TEST(CacheModel, NoTileIsFasterThanTheSpeedOfLightOrTheBest) {
  const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  for (const auto& [name, kernel] : cache_kernels()) {
    const double floor_s = speed_of_light(kernel, device).value;
    const KernelAnalysis analysis(kernel, device);
    const double best_s = analysis.estimate_best().time.value;
    for (const TileConfig& tile : analysis.tiles()) {
      const double time_s = analysis.time(tile).value;
      EXPECT_TRUE(std::isfinite(time_s)) << name << " " << to_string(tile);
      EXPECT_GE(time_s, floor_s * (1 - kRounding)) << name << " " << to_string(tile);
      EXPECT_GE(time_s, best_s) << name << " " << to_string(tile);
    }
  }
}

using Change = std::function<void(hwdesc::Device&)>;

// For every tile, not only the best.
void expect_never_slower(const Change& improve) {
  hwdesc::Device base = hwdesc::load_device("cpu_generic");
  base.matrix.fill = Cycles{4};
  hwdesc::Device better = base;
  improve(better);
  int faster = 0;
  for (const auto& [name, kernel] : cache_kernels()) {
    const CacheModel before(kernel, base);
    const CacheModel after(kernel, better);
    int failures = 0;
    for (const TileConfig& tile : before.candidates(kTiles)) {
      const double was = before.time_s(tile);
      const double is = after.time_s(tile);
      if (!std::isfinite(was)) continue;
      faster += is < was * (1 - kRounding) ? 1 : 0;
      failures += is > was * (1 + kRounding) ? 1 : 0;
      EXPECT_LE(is, was * (1 + kRounding)) << name << " " << to_string(tile);
      if (failures == 3) break;
    }
  }
  EXPECT_GT(faster, 0);
}

TEST(CacheModelMonotonicity, TwiceTheBandwidthOfALevelIsNeverSlower) {
  const std::size_t levels = hwdesc::load_device("cpu_generic").memory.size();
  for (std::size_t level = 0; level + 1 < levels; ++level) {
    SCOPED_TRACE(level);
    expect_never_slower(
        [level](hwdesc::Device& d) { d.memory[level].bandwidth = d.memory[level].bandwidth * 2; });
  }
}

TEST(CacheModelMonotonicity, TwiceTheCapacityOfACacheIsNeverSlower) {
  const std::size_t levels = hwdesc::load_device("cpu_generic").memory.size();
  for (std::size_t level = 1; level < levels; ++level) {
    SCOPED_TRACE(level);
    expect_never_slower(
        [level](hwdesc::Device& d) { d.memory[level].capacity = d.memory[level].capacity * 2; });
  }
}

TEST(CacheModelMonotonicity, TwiceTheClockIsNeverSlower) {
  expect_never_slower([](hwdesc::Device& d) { d.clock = d.clock * 2; });
  expect_never_slower([](hwdesc::Device& d) { d.matrix.clock = d.clock * 2; });
}

TEST(CacheModelMonotonicity, TwiceThePortsAndPipesAreNeverSlower) {
  expect_never_slower([](hwdesc::Device& d) { d.vector.load_ports *= 2; });
  expect_never_slower([](hwdesc::Device& d) { d.vector.store_ports *= 2; });
  expect_never_slower([](hwdesc::Device& d) { d.vector.alus *= 2; });
  expect_never_slower([](hwdesc::Device& d) { d.matrix.count *= 2; });
  expect_never_slower([](hwdesc::Device& d) { d.transcendental.per_cycle *= 2; });
  expect_never_slower([](hwdesc::Device& d) {
    d.cross_lane.elements_per_cycle *= 2;
    d.cross_lane.reduce_elements_per_cycle *= 2;
    d.cross_lane.irregular_elements_per_cycle *= 2;
  });
}

TEST(CacheModelMonotonicity, LessLatencyOverheadOrCostOfRunsIsNeverSlower) {
  expect_never_slower([](hwdesc::Device& d) {
    for (hwdesc::MemoryLevel& level : d.memory) level.latency = level.latency / 2;
  });
  expect_never_slower([](hwdesc::Device& d) { d.matrix.fill = Cycles{d.matrix.fill.value / 2}; });
  expect_never_slower([](hwdesc::Device& d) {
    for (hwdesc::TransferEngine& engine : d.engines) {
      engine.full_efficiency_run = engine.full_efficiency_run / 2;
    }
  });
}

}  // namespace
}  // namespace tilecast::analytical::testing

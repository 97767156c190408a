// Bottleneck analysis against formulas on machines with round numbers, and compared with the
// analytical model, which has the same resources.
#include "analytical/bottleneck.h"

#include <gmock/gmock.h>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "simt_kernels.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr double kBandwidth = 100e9;  // of block_device() and round_device()

Estimate bottleneck(const KernelQuery& query, const hwdesc::Device& device) {
  const auto answer = BottleneckModel().estimate({&query, 1}, device).front();
  EXPECT_TRUE(answer.has_value());
  return answer.value_or(Estimate{});
}

Estimate analytical(const KernelQuery& query, const hwdesc::Device& device) {
  return AnalyticalModel().estimate({&query, 1}, device).front().value();
}

// Four blocks of 64 x 64 on four workers.
TileConfig square_tile() {
  return {.output = {64, 64}, .kernel = {32, 64}, .input = {}};
}

TEST(Bottleneck, OfAProductIsItsFlopsAtThePeakOfTheUnits) {
  hwdesc::Device device = block_device();
  device.matrix.rows_per_cycle = 0.1;
  device.vector.lanes = 8;
  const ir::Kernel kernel = product_kernel(128, 128, 4096);
  const TileConfig tile = square_tile();
  const Estimate e = bottleneck({kernel, &tile}, device);
  const double flops_s = 2.0 * 128 * 128 * 4096 / device.matrix_peak("f16").value;
  EXPECT_NEAR(e.time.value, flops_s, 1e-12 * flops_s);
  EXPECT_EQ(e.bound, Bound::kMatrix);
  EXPECT_EQ(e.tile, tile);
  EXPECT_EQ(e.model, "bottleneck");
}

TEST(Bottleneck, OfAStreamIsItsBytesAtTheRateOfMainMemory) {
  const ir::Kernel kernel = chain_kernel(1024, 1024, 1);
  hwdesc::Device device = block_device();
  const Estimate e = bottleneck({kernel}, device);
  const double moved_s = (e.hbm_read + e.hbm_write).value / kBandwidth;
  EXPECT_GE(e.hbm_read.value, 4.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(e.hbm_write.value, 4.0 * 1024 * 1024);
  EXPECT_NEAR(e.time.value, moved_s, 1e-12 * moved_s);
  EXPECT_EQ(e.bound, Bound::kHbmRead);
  device.memory[0].full_duplex = true;  // reads and writes concurrently
  const Estimate duplex = bottleneck({kernel}, device);
  EXPECT_NEAR(duplex.time.value, e.hbm_read.value / kBandwidth, 1e-12 * moved_s);
}

TEST(Bottleneck, KnowsNoLatencyNoStagesAndNoLaunch) {
  const ir::Kernel kernel = product_kernel(128, 128, 4096);
  const TileConfig tile = square_tile();
  hwdesc::Device device = block_device();
  const Estimate before = bottleneck({kernel, &tile}, device);
  const double pipelined_s = analytical({kernel, &tile}, device).time.value;
  device.memory[0].latency = Seconds{1e-3};
  device.dispatch.kernel_launch = Seconds{1e-3};
  device.engines[0].stages = 1;
  EXPECT_EQ(bottleneck({kernel, &tile}, device).time, before.time);
  EXPECT_GT(analytical({kernel, &tile}, device).time.value, pipelined_s + 1e-3);
  for (const Bound beside : {Bound::kLatency, Bound::kFillDrain, Bound::kOverhead}) {
    EXPECT_EQ(before.bounds[static_cast<std::size_t>(beside)].value, 0) << name(beside);
  }
}

TEST(Bottleneck, IsTheLongestResourceOfTheAnalyticalModelOnShippedDevices) {
  const ir::Kernel kernel = product_kernel(1024, 512, 2048);
  for (const char* preset : {"a100_sxm_40gb", "h100_sxm", "tpu_v3", "tpu_v5e", "cpu_generic"}) {
    const hwdesc::Device device = hwdesc::load_device(preset);
    const auto tiles = KernelAnalysis(kernel, device).tiles(500);
    ASSERT_FALSE(tiles.empty()) << preset;
    for (const TileConfig& tile : tiles) {
      const Estimate whole = analytical({kernel, &tile}, device);
      const Estimate e = bottleneck({kernel, &tile}, device);
      double longest = e.speed_of_light.value;
      for (const Bound bound : {Bound::kHbmRead, Bound::kHbmWrite, Bound::kMatrix, Bound::kVector,
                                Bound::kTranscendental, Bound::kCrossLane, Bound::kOnChip}) {
        longest = std::max(longest, whole.bounds[static_cast<std::size_t>(bound)].value);
      }
      const double memory_s = whole.bounds[0].value + whole.bounds[1].value;
      EXPECT_GE(e.time.value, longest) << preset;
      EXPECT_LE(e.time.value, std::max(longest, memory_s)) << preset;
      EXPECT_GE(e.next_time.value, 0);
      EXPECT_LE(e.next_time, e.time);
    }
  }
}

TEST(Bottleneck, ChoosesItsOwnTile) {
  const ir::Kernel kernel = product_kernel(1024, 512, 2048);
  const hwdesc::Device device = hwdesc::load_device("a100_sxm_40gb");
  const Estimate chosen = bottleneck({kernel}, device);
  for (const TileConfig& tile : KernelAnalysis(kernel, device).tiles()) {
    EXPECT_LE(chosen.time, bottleneck({kernel, &tile}, device).time) << to_string(tile);
  }
}

TEST(Bottleneck, HasNoAnswerForATileThatCannotRun) {
  const ir::Kernel kernel = product_kernel(1024, 1024, 1024);
  const TileConfig too_large{.output = {1024, 1024}, .kernel = {1024, 1024}, .input = {}};
  const KernelQuery query{kernel, &too_large};
  EXPECT_FALSE(BottleneckModel().estimate({&query, 1}, block_device()).front().has_value());
}

}  // namespace
}  // namespace tilecast::analytical::testing

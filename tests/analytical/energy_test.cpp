// Energy of a launch against its formula, and the effect of a power limit.
#include "analytical/energy.h"

#include <gtest/gtest.h>

#include <random>

#include "analytical/analytical_model.h"
#include "analytical/roofline.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr int kCases = 1000;
constexpr double kRounding = 1e-9;

hwdesc::Device powered_round_device() {
  hwdesc::Device device = round_device();
  device.energy = hwdesc::Energy{.matrix = {{"bf16", Joules{1e-12}}, {"s8", Joules{0.5e-12}}},
                                 .vector = Joules{3e-12},
                                 .transcendental = Joules{20e-12},
                                 .memory = {{device.memory[0].name, JoulesPerByte{40e-12}},
                                            {device.memory[1].name, JoulesPerByte{2e-12}}},
                                 .network = JoulesPerByte{25e-12},
                                 .idle_power = Watts{10}};
  return device;
}

Estimate best(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return KernelAnalysis(kernel, device).estimate_best();
}

std::int64_t log_uniform(std::mt19937_64& random, double most) {
  return static_cast<std::int64_t>(
      std::exp(std::uniform_real_distribution<>(0, std::log(most))(random)));
}

TEST(LaunchEnergy, OfAProductIsItsFlopsAndItsBytes) {
  const hwdesc::Device device = powered_round_device();
  const ir::Kernel kernel = product_kernel(512, 256, 1024, ir::DType::kBF16);
  const Estimate e = best(kernel, device);
  ASSERT_TRUE(e.energy);
  const double bytes = (e.hbm_read + e.hbm_write).value;
  EXPECT_DOUBLE_EQ(e.energy->compute.value, 2.0 * 512 * 256 * 1024 * 1e-12);
  EXPECT_DOUBLE_EQ(e.energy->memory.value, bytes * 40e-12);
  EXPECT_DOUBLE_EQ(e.energy->on_chip.value, 2 * bytes * 2e-12);  // written and read
  EXPECT_EQ(e.energy->network.value, 0);
  EXPECT_DOUBLE_EQ(average_power(e, device).value, e.energy->total().value / e.time.value + 10);
}

TEST(LaunchEnergy, OfTypesThatTheMatrixUnitCannotMultiplyIsTheVectorUnits) {
  const ir::Kernel kernel = product_kernel(128, 128, 128, ir::DType::kF64);
  const Estimate e = best(kernel, powered_round_device());
  EXPECT_DOUBLE_EQ(e.energy->compute.value, 2.0 * 128 * 128 * 128 * 3e-12);
}

TEST(LaunchEnergy, OfElementsCountsOperationsAndTranscendentals) {
  const ir::Kernel kernel = kernel_of(fusion({array("f32", {256, 512})}, array("f32", {256, 512}),
                                             "  e = f32[256,512]{1,0:T(8,128)} exponential(p0)\n"
                                             "  ROOT r = f32[256,512]{1,0:T(8,128)} add(e, p0)"));
  const Estimate e = best(kernel, powered_round_device());
  EXPECT_DOUBLE_EQ(e.energy->compute.value, 256 * 512 * (3e-12 + 20e-12));
}

TEST(LaunchEnergy, OfKernelsWithoutCountsIsThatOfEveryElement) {
  const Estimate e = best(chain_kernel(100, 300, 7), powered_round_device());
  EXPECT_DOUBLE_EQ(e.energy->compute.value, 7 * 100 * 300 * 3e-12);
}

TEST(LaunchEnergy, OfACachedMachineCountsWhatBlocksLoadFromTheSharedCache) {
  const hwdesc::Device device = hwdesc::load_device("a100_sxm_40gb");
  const Estimate e = best(product_kernel(4096, 4096, 4096), device);
  const double memory = (e.hbm_read + e.hbm_write).value;
  const double cache = e.inner_bytes[0].value;
  EXPECT_GT(cache, memory);
  const auto& per_byte = device.energy->memory;
  EXPECT_NEAR(e.energy->on_chip.value,
              (memory + cache) * per_byte.at("l2").value + 2 * cache * per_byte.at("shared").value,
              kRounding * e.energy->on_chip.value);
}

TEST(LaunchEnergy, OfAnAllReduceIsWhatLeavesTheChipAndPassesItsMemory) {
  const hwdesc::Device device = hwdesc::load_device("a100_sxm_40gb");
  const ir::Kernel kernel = kernel_of(R"(HloModule m, replica_count=8
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY e {
  x = f32[1048576] parameter(0)
  ROOT r = f32[1048576] all-reduce(x), replica_groups={{0,1,2,3,4,5,6,7}}, to_apply=add
})");
  const Estimate e = best(kernel, device);
  const double payload = 4.0 * 1048576;
  EXPECT_NEAR(e.energy->network.value, 2 * 7.0 / 8 * payload * device.energy->network.value,
              kRounding);
  EXPECT_DOUBLE_EQ(e.energy->memory.value, 2 * payload * device.energy->memory.at("hbm").value);
  // Where the switch adds, a GPU sends its data once, and its share of the sum.
  const hwdesc::Device adding = hwdesc::load_device("h100_sxm");
  EXPECT_NEAR(best(kernel, adding).energy->network.value,
              (1 + 1.0 / 8) * payload * adding.energy->network.value, kRounding);
}

TEST(LaunchEnergy, IsNotGuessedWhereTheDeviceDescribesNone) {
  EXPECT_EQ(best(product_kernel(64, 64, 64), block_device()).energy, std::nullopt);
}

TEST(LaunchEnergy, OfTheRooflineIsThatOfTheLeastTraffic) {
  const hwdesc::Device device = hwdesc::load_device("a100_sxm_40gb");
  const ir::Kernel kernel = product_kernel(1024, 2048, 512);
  const KernelQuery query{kernel};
  const auto answers = RooflineModel().estimate({&query, 1}, device);
  const Estimate physics = best(kernel, device);
  const auto operations = [&](const Estimate& e) {
    return (e.energy->compute - device.clock_power() * e.time).value;
  };
  EXPECT_NEAR(operations(*answers[0]), operations(physics), kRounding * operations(physics));
  EXPECT_LE(answers[0]->energy->memory, physics.energy->memory);
}

TEST(LaunchEnergyProperty, IsNeverNegativeAndKnowsNoRates) {
  const hwdesc::Device base = powered_round_device();
  std::mt19937_64 random(9);
  for (int i = 0; i < kCases; ++i) {
    const ir::Kernel kernel =
        i % 2 == 0 ? product_kernel(log_uniform(random, 4000), log_uniform(random, 4000),
                                    log_uniform(random, 4000), ir::DType::kBF16)
                   : chain_kernel(log_uniform(random, 8000), log_uniform(random, 8000), 1 + i % 9);
    const Estimate e = best(kernel, base);
    for (const Joules part : {e.energy->compute, e.energy->memory, e.energy->on_chip}) {
      ASSERT_GE(part.value, 0) << i;
    }
    ASSERT_GT(e.energy->total().value, 0) << i;
    hwdesc::Device faster = base;
    const double factor = 1 + 0.1 * (1 + i % 20);
    faster.memory[0].bandwidth = factor * faster.memory[0].bandwidth;
    faster.clock = factor * faster.clock;
    const auto same_tile = KernelAnalysis(kernel, faster).estimate(e.tile);
    const Estimate* there = std::get_if<Estimate>(&same_tile);
    if (there == nullptr) continue;  // spilled: no tile fits
    EXPECT_NEAR(there->energy->total().value, e.energy->total().value,
                kRounding * e.energy->total().value)
        << i;
  }
}

TEST(AtClock, ScalesTheCoreAndLeavesMainMemoryAndLinks) {
  const hwdesc::Device full = hwdesc::load_device("l4");
  const hwdesc::Device half = at_clock(full, 0.5);
  EXPECT_DOUBLE_EQ(half.matrix_peak("f32") / full.matrix_peak("f32"), 0.5);
  EXPECT_DOUBLE_EQ(half.vector_peak() / full.vector_peak(), 0.5);
  EXPECT_DOUBLE_EQ(half.memory[1].bandwidth / full.memory[1].bandwidth, 0.5);
  EXPECT_EQ(half.main_memory().bandwidth, full.main_memory().bandwidth);
  EXPECT_EQ(half.interconnect->link_bandwidth, full.interconnect->link_bandwidth);
}

// The rate that L4 boards reach on large f32 products.
TEST(PowerLimit, LeavesAnL4TwentyEightPercentOfItsPeakOnLargeSingleFloatProducts) {
  const hwdesc::Device device = hwdesc::load_device("l4");
  for (const std::int64_t n : {4096, 8192}) {
    const Estimate e = best(product_kernel(n, n, n, ir::DType::kF32), device);
    const double flops = 2.0 * static_cast<double>(n * n * n);
    const double share = flops / e.time.value / (2 * device.vector_peak().value);
    EXPECT_NEAR(share, 0.28, 0.02) << n;
    EXPECT_LT(e.clock_factor, 0.5) << n;
    EXPECT_NEAR(e.utilisation, e.speed_of_light / e.time, kRounding) << n;
    EXPECT_GT(e.speed_of_light.value, 0) << n;
    EXPECT_EQ(e.model, "analytical") << n;
    EXPECT_NEAR(average_power(e, device).value, 72, 72e-4) << n;
  }
}

// Google Cloud: v4 chips draw 170 W on average and 192 W at most.
TEST(Power, OfALargeProductOnATpuV4IsBetweenWhatItsChipsDrawOnAverageAndMost) {
  const hwdesc::Device device = hwdesc::load_device("tpu_v4");
  const ir::Kernel kernel = kernel_of(R"(HloModule p
ENTRY e {
  a = bf16[8192,8192] parameter(0)
  b = bf16[8192,8192] parameter(1)
  ROOT d = bf16[8192,8192] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  const double power_W = average_power(best(kernel, device), device).value;
  EXPECT_GT(power_W, 170);
  EXPECT_LT(power_W, 192);
}

TEST(PowerLimit, DoesNotSlowWhatWaitsForMainMemory) {
  const hwdesc::Device device = hwdesc::load_device("l4");
  const hwdesc::Device unlimited = hwdesc::load_device("l4", {{"energy.power_limit", "null"}});
  for (const int ops : {1, 2, 4}) {
    const ir::Kernel kernel = chain_kernel(8192, 4096, ops);
    const Estimate e = best(kernel, device);
    EXPECT_EQ(e.bound, Bound::kHbmRead) << ops;
    EXPECT_EQ(e.time, best(kernel, unlimited).time) << ops;
    EXPECT_EQ(e.clock_factor, 1) << ops;
  }
}

TEST(PowerLimit, WithVoltageThatFollowsTheClockCostsLessTime) {
  const ir::Kernel kernel = product_kernel(4096, 4096, 4096, ir::DType::kF32);
  const hwdesc::Device one_voltage = hwdesc::load_device("l4");
  const hwdesc::Device scaled = hwdesc::load_device("l4", {{"energy.clock_exponent", "3"}});
  const Estimate slow = best(kernel, one_voltage);
  const Estimate fast = best(kernel, scaled);
  EXPECT_LT(fast.time, slow.time);
  EXPECT_LT(fast.energy->total(), slow.energy->total());
  EXPECT_LE(average_power(fast, scaled).value, 72 * (1 + kRounding));
}

// power(f) = idle + clock power x f^e + (memory + (operations + on chip) x f^(e - 1)) / time(f)
TEST(PowerLimit, WeighsClocksUnitsAndMemoryAtTheClockThatItLeaves) {
  const hwdesc::Device device =
      hwdesc::load_device("h200_sxm", {{"energy.power_state", "sustained"}});
  const hwdesc::Device free = hwdesc::load_device("h200_sxm", {{"energy.power_limit", "null"}});
  const ir::Kernel kernel = product_kernel(4096, 4096, 4096, ir::DType::kBF16);
  const Estimate held = best(kernel, device);
  const Estimate full = best(kernel, free);
  const double f = held.clock_factor, e = device.energy->clock_exponent;
  ASSERT_LT(f, 1);
  const LaunchEnergy& parts = *full.energy;
  const double operations = (parts.compute - device.clock_power() * full.time).value;
  EXPECT_NEAR(operations, 2 * std::pow(4096.0, 3) * device.product_energy("bf16").value, 1e-9);
  const double core = (operations + parts.on_chip.value) * std::pow(f, e - 1);
  const double power_W = device.idle_power().value + device.clock_power().value * std::pow(f, e) +
                         (parts.memory.value + core) / held.time.value;
  EXPECT_NEAR(power_W, 700, 0.01);
  EXPECT_NEAR(average_power(held, device).value, power_W, power_W * kRounding);
  EXPECT_GT(held.time, full.time);
}

// The same launch as a part of a step and again and again for a second.
TEST(PowerState, LimitsShortLaunchesOnlyWhereTheyAreSustained) {
  const hwdesc::Device burst = hwdesc::load_device("h200_sxm");
  const hwdesc::Device sustained =
      hwdesc::load_device("h200_sxm", {{"energy.power_state", "sustained"}});
  const ir::Kernel product = product_kernel(8192, 8192, 8192, ir::DType::kBF16);
  ASSERT_LT(best(product, burst).time, burst.energy->power_window);
  EXPECT_EQ(best(product, burst).clock_factor, 1);
  EXPECT_GT(average_power(best(product, burst), burst).value, 700);
  EXPECT_LT(best(product, sustained).clock_factor, 1);
  const ir::Kernel copy = chain_kernel(16384, 16384, 1);  // main memory draws less
  EXPECT_EQ(best(copy, sustained).time, best(copy, burst).time);
  EXPECT_EQ(best(copy, sustained).clock_factor, 1);
  const hwdesc::Device long_window = hwdesc::load_device(
      "h200_sxm", {{"energy.power_state", "sustained"}, {"energy.power_window", "1 s"}});
  EXPECT_EQ(best(product, long_window).time, best(product, sustained).time);
}

TEST(PowerLimitProperty, HoldsAndNeverMakesAnythingFaster) {
  hwdesc::Device unlimited = hwdesc::load_device("l4", {{"energy.power_limit", "null"}});
  std::mt19937_64 random(18);
  int slowed = 0;
  for (int i = 0; i < kCases / 4; ++i) {
    unlimited.energy->clock_power = Watts{i % 2 * 15.0};
    unlimited.energy->clock_exponent = 1 + i % 5 * 0.5;
    const ir::Kernel kernel =
        i % 3 == 2 ? chain_kernel(log_uniform(random, 9000), log_uniform(random, 9000), 1 + i % 20)
                   : product_kernel(log_uniform(random, 6000), log_uniform(random, 6000),
                                    log_uniform(random, 6000),
                                    i % 3 == 0 ? ir::DType::kF32 : ir::DType::kF16);
    hwdesc::Device limited = unlimited;
    const Watts idle = limited.energy->idle_power;
    limited.energy->power_limit = idle + Watts{0.5 + static_cast<double>(log_uniform(random, 200))};
    const Estimate free = best(kernel, unlimited);
    const Estimate held = best(kernel, limited);
    ASSERT_GE(held.time, free.time) << i;
    ASSERT_LE(average_power(held, limited).value,
              limited.energy->power_limit->value * (1 + kRounding))
        << i;
    if (average_power(free, limited) <= *limited.energy->power_limit) {
      EXPECT_EQ(held.time, free.time) << i;
      EXPECT_EQ(held.clock_factor, 1) << i;
    } else {
      ++slowed;
      EXPECT_LT(held.clock_factor, 1) << i;
    }
    limited.energy->power_limit = *limited.energy->power_limit + Watts{5};
    EXPECT_LE(best(kernel, limited).time.value, held.time.value * (1 + kRounding)) << i;
  }
  EXPECT_GT(slowed, 30);
}

TEST(PowerLimit, IsInTimesOfTilesToo) {
  const hwdesc::Device device = hwdesc::load_device("l4");
  const ir::Kernel kernel = product_kernel(2048, 2048, 2048, ir::DType::kF32);
  const KernelAnalysis analysis(kernel, device);
  std::vector<TileConfig> tiles = analysis.tiles();
  tiles.resize(std::min<std::size_t>(tiles.size(), 8));
  const std::vector<double> times = analysis.times_s(tiles);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const auto answer = analysis.estimate(tiles[i]);
    EXPECT_EQ(times[i], std::get<Estimate>(answer).time.value) << i;
    EXPECT_EQ(times[i], analysis.time(tiles[i]).value) << i;
  }
}

}  // namespace
}  // namespace tilecast::analytical::testing

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

#include "analytical/accounting.h"
#include "analytical/analytical_model.h"
#include "analytical/cache_model.h"
#include "analytical/scratchpad_model.h"
#include "analytical/simt_model.h"
#include "analytical/winograd.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr BoundMask kEverything = (BoundMask{1} << kBoundCount) - 1;

// A random game: a value for each coalition.
std::vector<double> random_game(std::mt19937& random, std::size_t players) {
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<double> values(std::size_t{1} << players);
  std::ranges::generate(values, [&] { return number(random); });
  return values;
}

std::vector<double> shapley_of(const std::vector<double>& game) {
  return shapley_values(static_cast<std::size_t>(std::countr_zero(game.size())),
                        [&](std::uint32_t s) { return game[s]; });
}

// The mean contribution of each player over all orders.
std::vector<double> mean_over_orders(const std::vector<double>& game, std::size_t players) {
  std::vector<std::size_t> order(players);
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> sums(players);
  double orders = 0;
  do {
    std::uint32_t present = 0;
    for (const std::size_t player : order) {
      const std::uint32_t with = present | (1U << player);
      sums[player] += game[with] - game[present];
      present = with;
    }
    ++orders;
  } while (std::ranges::next_permutation(order).found);
  for (double& sum : sums) sum /= orders;
  return sums;
}

TEST(Shapley, IsTheMeanOverAllOrders) {
  std::mt19937 random(1);
  for (std::size_t players = 1; players <= 6; ++players) {
    const std::vector<double> game = random_game(random, players);
    const std::vector<double> values = shapley_of(game), expected = mean_over_orders(game, players);
    for (std::size_t p = 0; p < players; ++p) EXPECT_NEAR(values[p], expected[p], 1e-12);
  }
}

TEST(Shapley, AddsUpAndIsLinear) {
  std::mt19937 random(2);
  for (std::size_t players = 1; players <= 12; ++players) {
    const std::vector<double> one = random_game(random, players),
                              other = random_game(random, players);
    const std::vector<double> a = shapley_of(one), b = shapley_of(other);
    EXPECT_NEAR(std::accumulate(a.begin(), a.end(), 0.0), one.back() - one.front(), 1e-12);
    std::vector<double> both(one.size());
    for (std::size_t s = 0; s < both.size(); ++s) both[s] = 3 * one[s] + other[s];
    const std::vector<double> sum = shapley_of(both);
    for (std::size_t p = 0; p < players; ++p) EXPECT_NEAR(sum[p], 3 * a[p] + b[p], 1e-12);
  }
}

TEST(Shapley, LikePlayersGetTheSameAndIdleOnesNothing) {
  // Players 0 and 3 are equivalent, player 2 has no effect: values depend on how many of the former
  // are in the coalition, and whether player 1 is.
  const std::vector<double> values = shapley_values(4, [](std::uint32_t s) {
    const int alike = static_cast<int>(s & 1U) + static_cast<int>(s >> 3 & 1U);
    return std::max(2.0 * alike * alike, (s >> 1 & 1U) != 0 ? 5.0 : 0.0);
  });
  EXPECT_DOUBLE_EQ(values[0], values[3]);
  EXPECT_EQ(values[2], 0);
  EXPECT_GT(values[0], 0);
  EXPECT_GT(values[1], 0);
}

TEST(AttributedTime, TwoThatOverlapShareWhatBothTake) {
  // max(read, compute) + launch: the longer one gets the difference and half of the rest.
  constexpr double kRead = 5, kCompute = 3, kLaunch = 2;
  const PerBound added = attributed_time([&](BoundMask removed) {
    Accounting accounting;
    const double read = kept_s(removed, Bound::kHbmRead, kRead);
    const double compute = kept_s(removed, Bound::kVector, kCompute);
    const double launch = kept_s(removed, Bound::kOverhead, kLaunch);
    accounting.busy[index_of(Bound::kHbmRead)] = read;
    accounting.busy[index_of(Bound::kVector)] = compute;
    accounting.busy[index_of(Bound::kOverhead)] = launch;
    accounting.total_s = std::max(read, compute) + launch;
    return accounting;
  });
  EXPECT_DOUBLE_EQ(added[index_of(Bound::kHbmRead)], kRead - kCompute + kCompute / 2);
  EXPECT_DOUBLE_EQ(added[index_of(Bound::kVector)], kCompute / 2);
  EXPECT_DOUBLE_EQ(added[index_of(Bound::kOverhead)], kLaunch);
}

std::vector<ir::Kernel> kernels() {
  const std::string shape = array("f32", {2048, 1024});
  std::vector<ir::Kernel> all;
  all.push_back(kernel_of(fusion({shape, shape}, shape, "  ROOT r = " + shape + " add(p0, p1)")));
  all.push_back(product_kernel(512, 1024, 256));
  all.push_back(product_kernel(8, 64, 8192));
  all.push_back(centred_kernel(512, 4096, 2));
  all.push_back(exponential_kernel(512, 512));
  all.push_back(transpose_kernel(1024, 768));
  all.push_back(sum_kernel(1024, 1024, 0));
  all.push_back(
      convolution_kernel({.batch = 4, .side = 14, .input_features = 64, .features = 128}));
  return all;
}

TEST(AttributedTime, NothingTakesTimeOnceEveryResourceIsFree) {
  for (const ir::Kernel& kernel : kernels()) {
    const auto expect_none = [&](const TileModel& model) {
      for (const TileConfig& tile : model.candidates(3)) {
        EXPECT_NEAR(model.account(tile, kEverything).total_s, 0, 1e-15) << kernel.name();
      }
    };
    const hwdesc::Device tpu = hwdesc::load_device("tpu_v3");
    expect_none(ScratchpadModel(kernel, tpu));
    const hwdesc::Device gpu = hwdesc::load_device("h100_sxm");
    expect_none(SimtModel(kernel, gpu));
    const hwdesc::Device cpu = hwdesc::load_device("cpu_generic");
    expect_none(CacheModel(kernel, cpu));
  }
}

TEST(AttributedTime, OfKernelsAddsUpToTheirTimeAndIsNotNegative) {
  for (const char* name : {"tpu_v3", "tpu_v5p", "h100_sxm", "p4", "cpu_generic"}) {
    const hwdesc::Device device = hwdesc::load_device(name);
    for (const ir::Kernel& kernel : kernels()) {
      const KernelAnalysis analysis(kernel, device);
      const Estimate best = analysis.estimate_best();
      const BoundVector added = analysis.attributed_time(best);
      double sum = 0;
      for (std::size_t b = 0; b < kBoundCount; ++b) {
        const std::string what = std::string(name) + " " + kernel.name() + " " +
                                 std::string(analytical::name(static_cast<Bound>(b)));
        sum += added[b].value;
        EXPECT_GE(added[b].value, -1e-9 * best.time.value) << what;
        EXPECT_LE(added[b].value, (1 + 1e-9) * best.time.value) << what;
      }
      EXPECT_NEAR(sum, best.time.value, 1e-9 * best.time.value) << name << " " << kernel.name();
      EXPECT_GT(added[index_of(best.bound)].value, 0) << name << " " << kernel.name();
    }
  }
}

TEST(AttributedTime, LeavingOutIdleResourcesChangesNothing) {
  const ir::Kernel kernel = product_kernel(512, 1024, 256);
  const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  const ScratchpadModel model(kernel, device);
  for (const TileConfig& tile : model.candidates(4)) {
    const PerBound added =
        attributed_time([&](BoundMask removed) { return model.account(tile, removed); });
    const std::vector<double> of_all = shapley_values(kBoundCount, [&](std::uint32_t present) {
      return model.account(tile, kEverything & ~present).total_s;
    });
    for (std::size_t b = 0; b < kBoundCount; ++b) EXPECT_NEAR(added[b], of_all[b], 1e-15);
  }
}

TEST(AttributedTime, WhereNothingOverlapsItIsTheTimeEachIsBusy) {
  const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  for (const ir::Kernel& kernel : kernels()) {
    const KernelAnalysis analysis(kernel, device);
    const Estimate best = analysis.estimate_best();
    double busy = 0;
    for (const Seconds bound : best.bounds) busy += bound.value;
    if (busy < best.time.value * (1 - 1e-9)) continue;  // limited by the speed of light
    const BoundVector added = analysis.attributed_time(best);
    for (std::size_t b = 0; b < kBoundCount; ++b) {
      EXPECT_NEAR(added[b].value, best.bounds[b].value, 1e-9 * best.time.value) << kernel.name();
    }
  }
}

TEST(AttributedTime, IsOfTheKernelsALibraryRunsInPlaceOfAConvolution) {
  const hwdesc::Device device = hwdesc::load_device("p4");
  const ir::Kernel kernel =
      convolution_kernel({.batch = 16, .side = 28, .input_features = 256, .features = 256});
  const KernelAnalysis analysis(kernel, device);
  const Estimate best = analysis.estimate_best();
  const auto fewer = winograd_estimate(kernel, device);
  ASSERT_TRUE(fewer);
  ASSERT_EQ(best.time, fewer->time) << "faster than the product over window positions";
  const BoundVector added = analysis.attributed_time(best);
  const PerBound expected = attributed_time(winograd(kernel, device)->account);
  double sum = 0;
  for (std::size_t b = 0; b < kBoundCount; ++b) {
    EXPECT_NEAR(added[b].value, expected[b], 1e-9 * best.time.value) << b;
    sum += added[b].value;
  }
  EXPECT_NEAR(sum, best.time.value, 1e-9 * best.time.value);
}

TEST(AttributedTime, OfKernelsWithoutTilesIsWhatTheyMoveAndWaitFor) {
  const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  const ir::Kernel kernel = kernel_of(
      "HloModule m\nENTRY main {\n  p0 = f32[512,1024]{1,0} parameter(0)\n"
      "  ROOT r = f32[512,1024]{1,0} custom-call(p0), custom_call_target=\"Mystery\"\n}\n");
  const KernelAnalysis analysis(kernel, device);
  const Estimate best = analysis.estimate_best();
  const BoundVector added = analysis.attributed_time(best);
  double sum = 0;
  for (const Seconds seconds : added) sum += seconds.value;
  EXPECT_NEAR(sum, best.time.value, 1e-12);
  EXPECT_GT(added[index_of(Bound::kHbmRead)].value, 0);
  EXPECT_GT(added[index_of(Bound::kHbmWrite)].value, 0);
  EXPECT_EQ(added[index_of(Bound::kMatrix)].value, 0);
}

}  // namespace
}  // namespace tilecast::analytical::testing

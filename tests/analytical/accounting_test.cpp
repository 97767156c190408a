// The account of every model's time, and the conclusions drawn from it.
#include "analytical/accounting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "alcop.h"
#include "analytical/analytical_model.h"
#include "analytical/cache_model.h"
#include "analytical/pipeline.h"
#include "analytical/scratchpad_model.h"
#include "analytical/simt_model.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr double kRounding = 1e-12, kSameSaving = 1e-9;
constexpr int kTiles = 64;  // per kernel

std::vector<ir::Kernel> kernels() {
  std::vector<ir::Kernel> list;
  list.push_back(product_kernel(1024, 512, 2048, ir::DType::kF32));
  list.push_back(product_kernel(100, 300, 700, ir::DType::kBF16));
  list.push_back(chain_kernel(1000, 1500, 3));
  list.push_back(chain_kernel(7, 5, 40));
  list.push_back(centred_kernel(512, 4096, 2));
  return list;
}

// The waiting times for all resources sum to the kernel's time, with and without the binding one.
void expect_account(const TileModel& model, const std::string& what) {
  int fitting = 0;
  for (const TileConfig& tile : model.candidates(4096)) {
    const double time_s = model.time_s(tile);
    if (!std::isfinite(time_s)) continue;
    if (++fitting > kTiles) break;
    const Accounting all = model.account(tile, 0);
    EXPECT_EQ(all.total_s, time_s) << what << " " << to_string(tile);
    EXPECT_EQ(model.estimate(tile).time.value, time_s) << what << " " << to_string(tile);
    EXPECT_LE(model.least_s(tile_extents(model.space(), tile)), time_s * (1 + kRounding))
        << what << " " << to_string(tile);
    const Accounting without = model.account(tile, mask_of(binding(all)));
    EXPECT_LE(without.total_s, time_s * (1 + kRounding)) << what << " " << to_string(tile);
    const auto saved = [&](Bound bound) {
      return all.total_s - model.account(tile, mask_of(bound)).total_s;
    };
    const Bound named = model.estimate(tile).bound;
    for (std::size_t b = 0; b < kBoundCount; ++b) {
      const auto other = static_cast<Bound>(b);
      // Time in filling and draining belongs to that bound.
      const double own = std::min(saved(other), all.busy[b]);
      EXPECT_GE(saved(named), own - kSameSaving * time_s)
          << what << " " << to_string(tile) << ": " << name(named) << ", not " << name(other);
    }
    for (const Accounting& account : {all, without}) {
      const PerBound& waits = account.bound_time;
      EXPECT_NEAR(std::accumulate(waits.begin(), waits.end(), 0.0), account.total_s,
                  kRounding * time_s)
          << what << " " << to_string(tile);
    }
  }
  EXPECT_GT(fitting, 0) << what;
}

TEST(Accounting, OfEveryMachineAddsUpToItsTime) {
  for (const ir::Kernel& kernel : kernels()) {
    const std::string what = kernel.name();
    for (const char* name : {"tpu_v2", "tpu_v3"}) {
      const hwdesc::Device device = hwdesc::load_device(name);
      expect_account(ScratchpadModel(kernel, device), name + (" " + what));
    }
    for (const char* name : {"h100_sxm", "t4"}) {
      const hwdesc::Device device = hwdesc::load_device(name);
      expect_account(SimtModel(kernel, device), name + (" " + what));
    }
    const hwdesc::Device cpu = hwdesc::load_device("cpu_generic");
    expect_account(CacheModel(kernel, cpu), "cpu " + what);
  }
}

TEST(Accounting, OfALoopChargesThePathOrTheCoreAndTheRestToLatency) {
  PerBound busy{};
  busy[index_of(Bound::kHbmRead)] = 3;
  busy[index_of(Bound::kHbmWrite)] = 2;
  busy[index_of(Bound::kVector)] = 4;
  busy[index_of(Bound::kMatrix)] = 1;
  busy[index_of(Bound::kIssue)] = 0.5;
  const PipelineLoop by_path{.path_s = 5, .core_s = 4.5, .round_trip_s = 14};
  Accounting account;
  account.add_periods(by_path, busy, 10, kMemoryPaths);
  EXPECT_EQ(account.bound_time[index_of(Bound::kHbmRead)], 50);
  EXPECT_EQ(account.bound_time[index_of(Bound::kLatency)], 20);
  EXPECT_EQ(account.busy[index_of(Bound::kHbmRead)], 30);
  EXPECT_EQ(account.busy[index_of(Bound::kLatency)], 20);
  const PipelineLoop by_core{.path_s = 3, .core_s = 4.5, .round_trip_s = 7.5};
  Accounting core;
  core.add_periods(by_core, busy, 10, kMemoryPaths);
  EXPECT_EQ(core.bound_time[index_of(Bound::kVector)], 40);
  EXPECT_EQ(core.bound_time[index_of(Bound::kIssue)], 5);
  EXPECT_EQ(core.bound_time[index_of(Bound::kHbmRead)], 0);
}

// Reads and writes alternate on a memory that is not full duplex: without the reads the kernel
// takes the time of the writes and their overhead, not that of the next longest resource.
TEST(Accounting, OfAnOpaqueKernelRemovesWhatBinds) {
  hwdesc::Device device = round_device();
  device.memory[0].latency = Seconds{1e-6};
  device.dispatch.kernel_launch = Seconds{2e-6};
  const ir::Kernel kernel = kernel_of(
      "HloModule m\nENTRY main {\n  p0 = f32[512,1024]{1,0} parameter(0)\n"
      "  ROOT r = f32[256,1024]{1,0} custom-call(p0), custom_call_target=\"Mystery\"\n}\n");
  const Estimate e = KernelAnalysis(kernel, device).estimate_best();
  const double read_s = 512 * 1024 * 4 / 100e9;
  EXPECT_NEAR(e.time.value, 1.5 * read_s + 3e-6, kRounding);
  EXPECT_EQ(e.bound, Bound::kHbmRead);
  EXPECT_EQ(e.next_bound, Bound::kHbmWrite);
  EXPECT_NEAR(e.next_time.value, 0.5 * read_s + 3e-6, kRounding);
}

}  // namespace

// The published load-use models are special cases of the bound.

namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  double time_s() { return std::pow(10.0, std::uniform_real_distribution<>(-9, -3)(random_)); }
  double count(int most) { return std::uniform_int_distribution<>(1, most)(random_); }

 private:
  std::mt19937_64 random_;
};

constexpr int kDraws = 10'000;

// Kaufman et al., MLSys 2021, Appendix A: the next tile is loaded while this one is computed.
TEST(Pipeline, OfTwoStagesWithoutLatencyTakesTheLargerOfTransferAndCompute) {
  Draw draw(1);
  for (int i = 0; i < kDraws; ++i) {
    const double transfer = draw.time_s();
    const double compute = draw.time_s();
    const double period = steady_period_s({.path_s = transfer,
                                           .core_s = compute,
                                           .round_trip_s = transfer + compute,
                                           .stages = 2,
                                           .workers = 1});
    ASSERT_EQ(period, std::max(transfer, compute));
  }
}

TEST(Pipeline, OfOneStageAddsTransferAndCompute) {
  Draw draw(2);
  for (int i = 0; i < kDraws; ++i) {
    const double transfer = draw.time_s();
    const double compute = draw.time_s();
    ASSERT_EQ(steady_period_s({.path_s = transfer,
                               .core_s = compute,
                               .round_trip_s = transfer + compute,
                               .stages = 1,
                               .workers = 1}),
              transfer + compute);
  }
}

// ALCOP (Huang et al., MLSys 2023), Table I. Its times are those of one resident block; N_mplx
// blocks share the unit.
TEST(Pipeline, IsAlcopsTableI) {
  Draw draw(3);
  int use_bound = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double load = draw.time_s();
    const double use = draw.time_s();
    const double loops = draw.count(1000);
    const double stages = draw.count(8);
    const double blocks = draw.count(16);
    const bool hidden = load <= (stages * blocks - 1) * use;
    use_bound += hidden ? 1 : 0;
    const double published = hidden ? use * loops * blocks : (load + use) * loops / stages;
    ASSERT_NEAR(load_use_loop_s(load, use, loops, stages, blocks), published, 1e-12 * published)
        << "load " << load << " use " << use << " stages " << stages << " blocks " << blocks;
  }
  EXPECT_GT(use_bound, kDraws / 10);
  EXPECT_LT(use_bound, kDraws * 9 / 10);
}

TEST(Pipeline, ChangesBranchExactlyAtAlcopsThreshold) {
  Draw draw(4);
  for (int i = 0; i < kDraws; ++i) {
    const double use = draw.time_s();
    const double stages = draw.count(8);
    const double blocks = draw.count(16);
    if (stages * blocks < 2) continue;
    const double threshold = (stages * blocks - 1) * use;
    const double at = load_use_loop_s(threshold, use, 1, stages, blocks);
    ASSERT_NEAR(at, use * blocks, 1e-12 * at);
    ASSERT_NEAR(at, (threshold + use) / stages, 1e-12 * at);
    ASSERT_DOUBLE_EQ(load_use_loop_s(0.99 * threshold, use, 1, stages, blocks), use * blocks);
    ASSERT_GT(load_use_loop_s(1.01 * threshold, use, 1, stages, blocks), use * blocks);
  }
}

TEST(Pipeline, IsNeverSlowerWithMoreStagesOrWorkers) {
  Draw draw(5);
  for (int i = 0; i < kDraws; ++i) {
    const PipelineLoop loop{.path_s = draw.time_s(),
                            .core_s = draw.time_s(),
                            .round_trip_s = draw.time_s(),
                            .in_order_s = draw.time_s(),
                            .stages = draw.count(8),
                            .workers = draw.count(16)};
    PipelineLoop deeper = loop;
    deeper.stages += 1;
    PipelineLoop wider = loop;
    wider.workers += 1;
    ASSERT_LE(steady_period_s(deeper), steady_period_s(loop));
    ASSERT_LE(steady_period_s(wider), steady_period_s(loop));
    ASSERT_GE(steady_period_s(loop), std::max(loop.path_s, loop.core_s));
  }
}

// A worker's own steps are sequential, independent of the number of buffers.
TEST(Pipeline, IsNeverFasterThanAWorkersOwnStepsInOrder) {
  PipelineLoop loop{.path_s = 1, .core_s = 1, .in_order_s = 6, .stages = 100};
  EXPECT_EQ(steady_period_s(loop), 6);
  loop.workers = 3;
  EXPECT_EQ(steady_period_s(loop), 2);
}

TEST(Pipeline, OfLikeIterationsTogetherTakesAsManyPeriods) {
  Draw draw(6);
  for (int i = 0; i < kDraws; ++i) {
    const PipelineLoop once{.path_s = draw.time_s(),
                            .core_s = draw.time_s(),
                            .round_trip_s = draw.time_s(),
                            .in_order_s = draw.time_s(),
                            .stages = draw.count(8)};
    PipelineLoop all = once;
    const double n = std::exp2(draw.count(20));
    for (double* time : {&all.path_s, &all.core_s, &all.round_trip_s, &all.in_order_s}) *time *= n;
    ASSERT_EQ(steady_period_s(all), n * steady_period_s(once));
  }
}

}  // namespace
}  // namespace tilecast::analytical::testing

// The published load-use models are special cases of the bound.
#include "analytical/pipeline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "alcop.h"

namespace tilecast::analytical::testing {
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

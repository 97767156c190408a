#include "search/fusion_search.h"

#include <gmock/gmock.h>

#include <set>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "sim/simulator.h"
#include "tests/support/folders.h"

namespace tilecast::search {
namespace {

using ir::FusionChoice;
using ir::FusionConfiguration;

std::string path(const std::string& name) {
  return support::source_dir().string() + "/configs/programs/" + name;
}

// A program, a device and the analytical model.
struct Problem {
  Problem(const std::string& name, const std::string& device_name)
      : device(hwdesc::load_device(device_name)),
        space(ir::read_module(path(name))),
        cost(space, device, model) {}

  [[nodiscard]] double simulated(const FusionConfiguration& chosen) const {
    const ir::DeviceProgram made =
        ir::program_for({"", space.fused(chosen), {}}, analytical::layout_rules(device), {});
    return sim::simulate(made.program, device, model).time.value;
  }

  hwdesc::Device device;
  analytical::AnalyticalModel model;
  ir::FusionSpace space;
  FusionCost cost;
};

TEST(FusionCost, IsWhatTheSimulatorSays) {
  for (const char* device : {"tpu_v3", "cpu_generic", "h100_sxm"}) {
    for (const char* name : {"small_transformer_train.hlo", "small_resnet.hlo", "small_mixer.hlo",
                             "mlp_train_loop.hlo", "small_lstm_train.hlo"}) {
      Problem problem(name, device);
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        FusionConfiguration chosen =
            seed == 0 ? problem.space.by_rules()
                      : problem.space.random(0.16 * static_cast<double>(seed), seed);
        for (std::size_t i = seed; seed > 2 && i < chosen.size(); i += 5) {
          chosen[i] = FusionChoice::kFuse;
        }
        const double expected = problem.simulated(chosen);
        EXPECT_NEAR(problem.cost.of(chosen).seconds, expected, 1e-9 * expected)
            << name << " on " << device << ", seed " << seed;
      }
    }
  }
}

TEST(FusionCost, DoesNotDependOnWhatWasAskedBefore) {
  Problem a("small_mixer.hlo", "tpu_v3"), b("small_mixer.hlo", "tpu_v3");
  for (std::uint64_t seed = 0; seed < 20; ++seed) (void)a.cost.of(a.space.random(0.5, seed));
  for (std::uint64_t seed = 20; seed < 40; ++seed) {
    const FusionConfiguration chosen = a.space.random(0.5, seed);
    const PlanCost known = a.cost.of(chosen), fresh = b.cost.of(chosen);
    EXPECT_EQ(known.seconds, fresh.seconds);
    EXPECT_EQ(known.plan, fresh.plan);
    EXPECT_EQ(known.kernels, fresh.kernels);
  }
}

class EveryFusionStrategy : public ::testing::TestWithParam<FusionStrategy> {};

TEST_P(EveryFusionStrategy, KeepsTheFastestOfWhatItMet) {
  Problem problem("small_transformer_train.hlo", "tpu_v3");
  const FusionSearchOptions options{.strategy = GetParam(), .seed = 5, .costs = 600, .keep = 20};
  const FusionSearch found = search_fusions(problem.cost, options);
  EXPECT_LE(found.costs, 600u);
  EXPECT_GT(found.costs, 500u);
  ASSERT_EQ(found.best.size(), 20u);
  EXPECT_EQ(found.by_rules.seconds, problem.cost.of(problem.space.by_rules()).seconds);
  EXPECT_LE(found.best.front().cost.seconds, found.by_rules.seconds);
  std::set<PlanHash> plans;
  for (std::size_t i = 0; i < found.best.size(); ++i) {
    EXPECT_EQ(problem.cost.of(found.best[i].chosen).seconds, found.best[i].cost.seconds);
    plans.insert(found.best[i].cost.plan);
    if (i > 0) {
      EXPECT_GE(found.best[i].cost.seconds, found.best[i - 1].cost.seconds);
    }
  }
  EXPECT_EQ(plans.size(), 20u);
}

TEST_P(EveryFusionStrategy, IsTheSameEveryTime) {
  Problem a("small_mixer.hlo", "tpu_v3"), b("small_mixer.hlo", "tpu_v3");
  for (const bool random_start : {false, true}) {
    const FusionSearchOptions options{
        .strategy = GetParam(), .random_start = random_start, .seed = 9, .costs = 200};
    const FusionSearch one = search_fusions(a.cost, options);
    const FusionSearch two = search_fusions(b.cost, options);
    ASSERT_EQ(one.best.size(), two.best.size());
    for (std::size_t i = 0; i < one.best.size(); ++i) {
      EXPECT_EQ(one.best[i].chosen, two.best[i].chosen);
    }
  }
}

TEST_P(EveryFusionStrategy, StopsWhenAskedTo) {
  Problem problem("small_mixer.hlo", "tpu_v3");
  FusionSearchOptions options{.strategy = GetParam()};
  options.step = [](const FusionProgress& progress) { return progress.costs < 30; };
  EXPECT_EQ(search_fusions(problem.cost, options).costs, 30u);
}

INSTANTIATE_TEST_SUITE_P(FusionSearch, EveryFusionStrategy,
                         ::testing::Values(FusionStrategy::kAnneal, FusionStrategy::kRandom,
                                           FusionStrategy::kGreedy, FusionStrategy::kBeam));

// Small enough for an exhaustive search: annealing and the beam find the optimum.
TEST(FusionSearch, FindsTheBestOfAll) {
  Problem problem("small_adam.hlo", "tpu_v3");
  const std::size_t count = problem.space.decisions().size();
  ASSERT_GT(count, 4u);
  double best = std::numeric_limits<double>::infinity();
  const std::size_t bits = std::min<std::size_t>(count, 14);
  for (std::size_t code = 0; code < (std::size_t{1} << bits); ++code) {
    FusionConfiguration chosen = problem.space.by_rules();
    for (std::size_t i = 0; i < bits; ++i) {
      if ((code >> i & 1) != 0) chosen[i] = FusionChoice::kKeep;
    }
    best = std::min(best, problem.cost.of(chosen).seconds);
  }
  for (const FusionStrategy strategy : {FusionStrategy::kAnneal, FusionStrategy::kBeam}) {
    const FusionSearch found = search_fusions(problem.cost, {.strategy = strategy, .costs = 5000});
    EXPECT_LE(found.best.front().cost.seconds, best * (1 + 1e-12));
  }
}

}  // namespace
}  // namespace tilecast::search

#include "search/fusion_tuner.h"

#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "ir/program.h"
#include "ir/read_module.h"
#include "search/fusion_search.h"
#include "sim/simulator.h"
#include "tests/search/fresh_file.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::search {
namespace {

using ir::FusionChoice;
using ir::FusionConfiguration;
using ::testing::HasSubstr;

// Times follow a fixed rule: the cost of a program per kernel, or its failure.
class FakeHardware final : public Hardware {
 public:
  std::vector<HardwareTime> time(std::span<const HardwareJob> jobs) override {
    std::vector<HardwareTime> times;
    for (const HardwareJob& job : jobs) {
      ++timed;
      clock_s += 1;
      const std::size_t kernels = ir::make_program(job.module).kernels().size();
      if (kernels % fails_every == 0) {
        times.push_back({std::nullopt, "wrong result 0"});
      } else {
        times.push_back({1e-6 * (static_cast<double>(kernels) + (slow_again ? 50 * timed : 0))});
      }
    }
    return times;
  }
  std::size_t timed = 0, fails_every = 1000;
  double clock_s = 0;
  bool slow_again = false;
};

struct Tuning {
  hwdesc::Device device = hwdesc::load_device("tpu_v3");
  analytical::AnalyticalModel model;
  ir::FusionSpace space{
      ir::read_module(support::source_dir().string() + "/configs/programs/small_mixer.hlo")};
  FusionCost cost{space, device, model};
  FusionSearch found = search_fusions(cost, {.costs = 300, .keep = 12});
  FakeHardware hardware;

  TunedFusion verify(TuningJournal& journal, double budget_s = 1000,
                     std::size_t stop_after = 1000) {
    return verify_fusions(cost, found, hardware,
                          {.budget_s = budget_s,
                           .now = [this] { return hardware.clock_s; },
                           .step = [=](std::size_t tried, double) { return tried < stop_after; }},
                          journal);
  }
};

TEST(VerifyFusions, RunsTheRulesFirstAndTakesTheFastest) {
  Tuning tuning;
  TuningJournal journal("", "p");
  const TunedFusion tuned = tuning.verify(journal);
  ASSERT_EQ(tuned.tried.front().rank, 0u);
  double best = *tuned.tried.front().measured.seconds;
  for (std::size_t i = 1; i < tuned.tried.size(); ++i) {
    if (i > 1) {
      EXPECT_GT(tuned.tried[i].rank, tuned.tried[i - 1].rank) << "in predicted order";
    }
    best = std::min(best, *tuned.tried[i].measured.seconds);
  }
  EXPECT_EQ(tuned.chosen_s, best);
  EXPECT_EQ(tuned.by_rules_s, *tuned.tried.front().measured.seconds);
  EXPECT_GE(tuned.speedup(), 1);
}

TEST(VerifyFusions, TriesNeighboursOfTheFastestWithTheRestOfTheBudget) {
  Tuning with, without;
  with.found.best.resize(1);
  without.found.best.resize(1);
  TuningJournal journal("", "p"), other("", "p");
  const TunedFusion refined = with.verify(journal, 40);
  EXPECT_GT(refined.tried.size(), 10u);
  EXPECT_GT(refined.tried.back().rank, with.found.best.size()) << "a neighbour";
  const TunedFusion listed = verify_fusions(
      without.cost, without.found, without.hardware,
      {.budget_s = 40, .refine = 0, .now = [&] { return without.hardware.clock_s; }}, other);
  EXPECT_LE(listed.tried.size(), 2u);
  EXPECT_LE(refined.chosen_s, listed.chosen_s);
}

TEST(VerifyFusions, StopsWhenTheBudgetIsSpent) {
  Tuning tuning;
  TuningJournal journal("", "p");
  const TunedFusion tuned = tuning.verify(journal, 5);
  EXPECT_LE(tuned.tried.size(), 6u);  // one, then pairs while less than 5 s are used
  EXPECT_GE(tuned.tried.size(), 5u);
}

TEST(VerifyFusions, KeepsTheRulesWhereTheClosingPairShowsNoGain) {
  Tuning tuning;
  TuningJournal journal("", "p");
  tuning.hardware.slow_again = true;  // later runs are slower: the first one timed wins
  const TunedFusion tuned = tuning.verify(journal);
  EXPECT_EQ(tuned.chosen, tuning.space.by_rules());
  EXPECT_EQ(tuned.chosen_rank, 0u);
  EXPECT_EQ(tuned.speedup(), 1);
}

TEST(VerifyFusions, CountsWhatFailsAndGoesOn) {
  Tuning tuning;
  TuningJournal journal("", "p");
  const std::size_t rules =
      ir::make_program(tuning.space.fused(tuning.space.by_rules())).kernels().size();
  tuning.hardware.fails_every = rules + 1;
  EXPECT_NO_THROW((void)tuning.verify(journal));
  TuningJournal other("", "p");
  tuning.hardware.fails_every = rules;
  EXPECT_THROW((void)tuning.verify(other), Error) << "what the rules give must run";
}

TEST(VerifyFusions, EndsAsIfItHadNotBeenBrokenOff) {
  const std::string file = fresh_file();
  Tuning whole, first, second;
  TuningJournal memory("", "p");
  const TunedFusion expected = whole.verify(memory);
  {
    TuningJournal journal(file, "p");
    EXPECT_TRUE(first.verify(journal, 1000, 5).stopped);
  }
  {  // truncated in the middle of a row
    std::ofstream(file, std::ios::app) << "p,0123";
  }
  TuningJournal journal(file, "p");
  EXPECT_GE(journal.size(), 5u);
  const TunedFusion resumed = second.verify(journal);
  EXPECT_LT(second.hardware.timed, whole.hardware.timed);
  EXPECT_EQ(resumed.chosen, expected.chosen);
  EXPECT_EQ(resumed.chosen_s, expected.chosen_s);
  ASSERT_EQ(resumed.tried.size(), expected.tried.size());
  for (std::size_t i = 0; i < expected.tried.size(); ++i) {
    EXPECT_EQ(resumed.tried[i].rank, expected.tried[i].rank);
    EXPECT_DOUBLE_EQ(*resumed.tried[i].measured.seconds, *expected.tried[i].measured.seconds);
  }
}

TEST(TuningJournal, BelongsToOneProgram) {
  const std::string file = fresh_file();
  {
    TuningJournal journal(file, "one");
    journal.add({"abc", {1.5e-3}, 2});
    journal.add({"def", {std::nullopt, "crash, twice"}, 0});
  }
  {
    const TuningJournal again(file, "one");
    ASSERT_NE(again.find("abc"), nullptr);
    EXPECT_DOUBLE_EQ(*again.find("abc")->time.seconds, 1.5e-3);
    EXPECT_DOUBLE_EQ(again.find("abc")->spent_s, 2);
    EXPECT_EQ(again.find("def")->time.failure, "crash, twice");
    EXPECT_EQ(again.find("ghi"), nullptr);
  }
  EXPECT_THAT(support::error_of([&] { const TuningJournal other(file, "two"); }),
              HasSubstr("the journal is of another program"));
}

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
                         ::testing::Values(FusionStrategy::kAnneal, FusionStrategy::kRandom));

// Small enough for an exhaustive search: annealing finds the optimum.
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
  const FusionSearch found = search_fusions(problem.cost, {.costs = 5000});
  EXPECT_LE(found.best.front().cost.seconds, best * (1 + 1e-12));
}
}  // namespace
}  // namespace tilecast::search

#include "search/fusion_tuner.h"

#include <gmock/gmock.h>

#include <fstream>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/program.h"
#include "ir/read_module.h"
#include "tests/search/fresh_file.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::search {
namespace {

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

}  // namespace
}  // namespace tilecast::search

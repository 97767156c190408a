// The difference of two runs: kernels are paired, and every attribution adds up.
#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <set>

#include "base/random.h"
#include "sim/report/difference.h"

namespace tilecast::sim::report {
namespace {

KernelResult difference_kernel(std::string name, std::string content, double time_s,
                               std::string bound, double launches = 1) {
  KernelResult kernel{.name = std::move(name), .opcode = "fusion", .op_class = "fusion"};
  kernel.computation = "main";
  kernel.content = std::move(content);
  kernel.launches = launches;
  kernel.time_s = time_s;
  kernel.total_s = time_s * launches;
  kernel.bound = std::move(bound);
  return kernel;
}

SimulationResult run_of(std::vector<KernelResult> kernels) {
  SimulationResult run{.program = "p", .device = "d"};
  run.kernels = std::move(kernels);
  for (const KernelResult& kernel : run.kernels) run.time_s += kernel.total_s;
  return run;
}

// Few names, contents and bounds, so that they meet and repeat.
SimulationResult random_run(std::mt19937_64& random) {
  constexpr const char* kBounds[] = {"hbm_read", "matrix", "latency"};
  std::vector<KernelResult> kernels;
  const std::uint64_t count = base::draw(random, 12);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string content =
        base::draw(random, 4) == 0 ? "" : "c" + std::to_string(base::draw(random, 5));
    kernels.push_back(difference_kernel("k" + std::to_string(base::draw(random, 8)), content,
                                        1e-9 * static_cast<double>(base::draw(random, 1000000)),
                                        kBounds[base::draw(random, 3)],
                                        static_cast<double>(base::draw(random, 5))));
    kernels.back().op_class = base::draw(random, 2) == 0 ? "fusion" : "matrix";
    kernels.back().skipped = base::draw(random, 10) == 0;
  }
  return run_of(std::move(kernels));
}

double sum_of(const std::vector<ChangeShare>& shares) {
  double sum = 0;
  for (const ChangeShare& share : shares) sum += share.change_s;
  return sum;
}

TEST(ReportDifference, EveryAttributionAddsUpAndEveryKernelCountsOnce) {
  std::mt19937_64 random(18);
  for (int round = 0; round < 2000; ++round) {
    const SimulationResult before = random_run(random), after = random_run(random);
    const Difference d = difference(before, after);
    const double rounding = 1e-14 * (before.time_s + after.time_s) + 1e-30;
    const double change = after.time_s - before.time_s;
    EXPECT_NEAR(d.change_s(), change, rounding);
    EXPECT_NEAR(sum_of(d.resources), change, 10 * rounding);
    EXPECT_NEAR(sum_of(d.classes), change, 10 * rounding);
    double pairs = 0;
    std::multiset<std::size_t> seen_before, seen_after;
    for (const KernelPair& pair : d.pairs) {
      pairs += pair.change_s;
      if (pair.before) seen_before.insert(*pair.before);
      if (pair.after) seen_after.insert(*pair.after);
      EXPECT_EQ(pair.by == PairedBy::kNothing, !pair.before || !pair.after);
    }
    EXPECT_NEAR(pairs, change, 10 * rounding);
    EXPECT_EQ(seen_before.size(), before.kernels.size());
    EXPECT_EQ(std::set(seen_before.begin(), seen_before.end()).size(), before.kernels.size());
    EXPECT_EQ(seen_after.size(), after.kernels.size());
    EXPECT_EQ(std::set(seen_after.begin(), seen_after.end()).size(), after.kernels.size());
  }
}

TEST(ReportDifference, TheReverseHasTheOppositeChanges) {
  std::mt19937_64 random(19);
  for (int round = 0; round < 1000; ++round) {
    const SimulationResult a = random_run(random), b = random_run(random);
    const Difference there = difference(a, b), back = difference(b, a);
    EXPECT_DOUBLE_EQ(there.change_s(), -back.change_s());
    EXPECT_EQ(there.pairs.size(), back.pairs.size());
    for (const ChangeShare& share : there.resources) {
      for (const ChangeShare& other : back.resources) {
        if (share.name != other.name) continue;
        EXPECT_NEAR(share.change_s, -other.change_s, 1e-13 * (a.time_s + b.time_s));
      }
    }
  }
}

TEST(ReportDifference, ARunDiffersFromItselfByNothing) {
  std::mt19937_64 random(20);
  for (int round = 0; round < 1000; ++round) {
    const SimulationResult run = random_run(random);
    for (const KernelPair& pair : difference(run, run).pairs) {
      ASSERT_TRUE(pair.before && pair.after);
      const KernelResult& kernel = run.kernels[*pair.before];
      EXPECT_EQ(kernel.name, run.kernels[*pair.after].name);
      EXPECT_EQ(kernel.content, run.kernels[*pair.after].content);
    }
  }
}

TEST(ReportDifference, RenamedKernelsArePairedByWhatTheyCompute) {
  const auto before = run_of({difference_kernel("fusion.1", "a", 3e-6, "matrix"),
                              difference_kernel("fusion.2", "b", 5e-6, "hbm_read")});
  const auto after = run_of({difference_kernel("fusion.1", "b", 4e-6, "hbm_read"),
                             difference_kernel("fusion.2", "a", 3e-6, "matrix")});
  const Difference d = difference(before, after);
  ASSERT_EQ(d.pairs.size(), 2u);
  EXPECT_EQ(d.pairs[0].before, 1u);
  EXPECT_EQ(d.pairs[0].after, 0u);
  EXPECT_EQ(d.pairs[0].by, PairedBy::kContent);
  EXPECT_NEAR(d.pairs[0].change_s, 4e-6 - 5e-6, 1e-20);
  EXPECT_EQ(d.pairs[1].change_s, 0);
}

TEST(ReportDifference, KernelsOfAnotherLayoutArePairedByName) {
  const auto before = run_of({difference_kernel("dot.1", "tiled", 3e-6, "matrix")});
  const auto after = run_of({difference_kernel("dot.1", "plain", 2e-6, "hbm_read")});
  const Difference d = difference(before, after);
  ASSERT_EQ(d.pairs.size(), 1u);
  EXPECT_EQ(d.pairs[0].by, PairedBy::kName);
}

TEST(ReportDifference, LossCountsForTheBoundAfterAndGainForTheOneBefore) {
  const auto before = run_of({difference_kernel("faster", "a", 9e-6, "matrix"),
                              difference_kernel("slower", "b", 1e-6, "matrix"),
                              difference_kernel("removed", "c", 2e-6, "latency")});
  const auto after = run_of({difference_kernel("faster", "a", 4e-6, "hbm_read"),
                             difference_kernel("slower", "b", 3e-6, "hbm_read"),
                             difference_kernel("added", "d", 7e-6, "network")});
  std::map<std::string, double> change;
  for (const ChangeShare& share : difference(before, after).resources) {
    change[share.name] = share.change_s;
  }
  EXPECT_NEAR(change["matrix"], 4e-6 - 9e-6, 1e-18);
  EXPECT_NEAR(change["hbm_read"], 3e-6 - 1e-6, 1e-18);
  EXPECT_NEAR(change["latency"], -2e-6, 1e-18);
  EXPECT_NEAR(change["network"], 7e-6, 1e-18);
}

TEST(ReportDifference, MoreLaunchesAreToldFromSlowerOnes) {
  const auto before = run_of({difference_kernel("k", "a", 3e-6, "matrix", 2)});
  const auto after = run_of({difference_kernel("k", "a", 4e-6, "matrix", 5)});
  const KernelPair pair = difference(before, after).pairs.front();
  EXPECT_NEAR(pair.change_s, 5 * 4e-6 - 2 * 3e-6, 1e-18);
  EXPECT_NEAR(pair.launches_s, (5 - 2) * 3e-6, 1e-18);
}

}  // namespace
}  // namespace tilecast::sim::report

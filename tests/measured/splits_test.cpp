// Splits are partitions that never have one group on both sides, and are equal on all platforms.
#include "measured/splits.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "base/error.h"

namespace tilecast::measured {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Keys = std::vector<std::string>;

// Every sample on exactly one side, ascending.
void expect_partition(const Split& split, std::size_t n) {
  EXPECT_TRUE(std::ranges::is_sorted(split.fit));
  EXPECT_TRUE(std::ranges::is_sorted(split.score));
  std::vector<std::size_t> all = split.fit;
  all.insert(all.end(), split.score.begin(), split.score.end());
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), n);
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(all[i], i);
}

void expect_no_leak(const Split& split, const Keys& keys) {
  std::set<std::string> fitted;
  for (const std::size_t i : split.fit) fitted.insert(keys[i]);
  for (const std::size_t i : split.score) EXPECT_FALSE(fitted.contains(keys[i])) << keys[i];
}

TEST(Splits, NeverLeakAGroupAndScoreEverySampleOnce) {
  std::mt19937_64 random(3);
  constexpr int kTries = 200;
  for (int t = 0; t < kTries; ++t) {
    const std::size_t n = random() % 60 + 4;
    const std::size_t groups = random() % n + 2;
    Keys keys;
    for (std::size_t i = 0; i < n; ++i) keys.push_back(std::to_string(random() % groups));
    const std::size_t distinct = std::set<std::string>(keys.begin(), keys.end()).size();
    if (distinct < 2) continue;
    const std::size_t folds = random() % (distinct - 1) + 2;
    std::vector<int> scored(n);
    for (const Split& split : k_fold(keys, folds, random())) {
      expect_partition(split, n);
      expect_no_leak(split, keys);
      EXPECT_THAT(split.score, ::testing::Not(IsEmpty()));
      for (const std::size_t i : split.score) ++scored[i];
    }
    EXPECT_THAT(scored, ::testing::Each(1));
    EXPECT_THAT(leave_one_out(keys), SizeIs(distinct));
    const double share = 0.01 + 0.98 * static_cast<double>(random() % 100) / 100;
    const Split held = held_out(keys, share, random());
    expect_partition(held, n);
    expect_no_leak(held, keys);
    EXPECT_THAT(held.fit, ::testing::Not(IsEmpty()));
    EXPECT_THAT(held.score, ::testing::Not(IsEmpty()));
  }
}

TEST(Splits, FoldsOfSingleSamplesDifferInSizeByOneAtMost) {
  Keys keys;
  for (int i = 0; i < 23; ++i) keys.push_back("g" + std::to_string(i));
  for (const Split& split : k_fold(keys, 5, 1)) {
    EXPECT_GE(split.score.size(), 4U);
    EXPECT_LE(split.score.size(), 5U);
  }
}

TEST(Splits, AreTheSameOnEveryPlatform) {  // mt19937_64 is specified by the standard
  const Keys keys{"a", "b", "c", "d", "e", "f"};
  const Split first = held_out(keys, 0.5, 42);
  EXPECT_EQ(held_out(keys, 0.5, 42).score, first.score);
  std::set<std::vector<std::size_t>> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) seen.insert(held_out(keys, 0.5, seed).score);
  EXPECT_GT(seen.size(), 5U) << "seeds matter";
}

TEST(Splits, LeaveOneOutFollowsTheOrderOfTheKeys) {
  const std::vector<Split> splits = leave_one_out(Keys{"b", "a", "b", "c"});
  ASSERT_THAT(splits, SizeIs(3));
  EXPECT_THAT(splits[0].score, ElementsAre(1));
  EXPECT_THAT(splits[1].score, ElementsAre(0, 2));
  EXPECT_THAT(splits[1].fit, ElementsAre(1, 3));
}

TEST(Splits, TheLargestOfEachStratumAreHeldOut) {
  const std::vector<double> size{5, 1, 3, 2, 4, 100, 700, 300, 300, 7};
  const Keys stratum{"a", "a", "a", "a", "a", "b", "b", "b", "b", "c"};
  // a: ceil(0.6 x 5) = 3 fitted, 4 and 5 scored. b: ceil(0.6 x 4) = 3 fitted, 700 scored. c:
  // fitted.
  EXPECT_THAT(largest_held_out(size, stratum, 0.4).score, ElementsAre(0, 4, 6));
  // b: 2 would be fitted, but the other 300 stays with its equal.
  EXPECT_THAT(largest_held_out(size, stratum, 0.5).score, ElementsAre(0, 4, 6));
}

TEST(Splits, SampledRowsAreAPartitionOfTheRowsGiven) {
  const std::vector<std::size_t> rows{3, 5, 8, 13, 21};
  const Split split = sampled_rows(rows, 2, 9);
  EXPECT_THAT(split.fit, SizeIs(2));
  std::vector<std::size_t> all = split.fit;
  all.insert(all.end(), split.score.begin(), split.score.end());
  EXPECT_THAT(all, ::testing::UnorderedElementsAreArray(rows));
  EXPECT_EQ(sampled_rows(rows, 2, 9).fit, split.fit);
}

TEST(Splits, EveryRowIsDrawnAboutEquallyOften) {
  const std::vector<std::size_t> rows{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<int> drawn(rows.size());
  constexpr int kDraws = 5000;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    for (const std::size_t i : sampled_rows(rows, 3, seed).fit) ++drawn[i];
  }
  for (const int count : drawn) EXPECT_NEAR(count, 0.3 * kDraws, 5 * 32);  // 5 sigma for 0.3 x 5000
}

TEST(Splits, RefuseWhatCannotBeSplit) {
  const Keys one{"a", "a"};
  const Keys two{"a", "b"};
  EXPECT_THROW((void)k_fold(two, 3, 1), Error);
  EXPECT_THROW((void)k_fold(two, 1, 1), Error);
  EXPECT_THROW((void)leave_one_out(one), Error);
  EXPECT_THROW((void)held_out(one, 0.5, 1), Error);
  EXPECT_THROW((void)held_out(two, 0, 1), Error);
  EXPECT_THROW((void)held_out(two, 1, 1), Error);
  EXPECT_THROW((void)held_out(two, std::nan(""), 1), Error);
  const std::vector<std::size_t> rows{1, 2};
  EXPECT_THROW((void)sampled_rows(rows, 2, 1), Error);
  EXPECT_THROW((void)sampled_rows(rows, 0, 1), Error);
  EXPECT_THROW((void)k_fold(Keys{}, 2, 1), Error);
}

}  // namespace
}  // namespace tilecast::measured

// The weight of an opinion, determined from trials.
#include "hybrid/shrinkage.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilecast::hybrid {
namespace {

constexpr std::string_view kAnyKind = "loop_fusion bound by memory";

// `units` groups of `rows` trials each, with error `residual` and opinion `said`.
std::vector<Trial> trials_of(std::uint32_t units, int rows, double residual, Opinion said,
                             const std::string& kind = std::string(kAnyKind)) {
  static std::uint32_t next = 0;
  std::vector<Trial> trials;
  for (std::uint32_t unit = 0; unit < units; ++unit, ++next) {
    for (int row = 0; row < rows; ++row) {
      trials.push_back({.residual = residual, .said = said, .unit = next, .kind = kind});
    }
  }
  return trials;
}

std::vector<Trial> operator+(std::vector<Trial> a, const std::vector<Trial>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Shrinkage, BelievesTheShareOfTheMeanThatTheDeviationLeaves) {
  for (const double c : kFactors) {
    for (const double m : {-0.7, 0.02, 0.3}) {
      for (const double s : {0.0, 0.1, 2.0}) {
        const double k = c == kPhysicsAlone ? 0 : m * m / (m * m + c * s * s);
        const Shrinkage rule{.c = c, .kinds = {std::string(kAnyKind)}};
        EXPECT_DOUBLE_EQ(rule.weight({m, s}, kAnyKind), k) << c;
        EXPECT_EQ(rule.weight({m, s}, "a kind never tried"), 0);
      }
    }
    EXPECT_EQ((Shrinkage{.c = c, .kinds = {std::string(kAnyKind)}}.weight({0, 0}, kAnyKind)), 0);
  }
}

TEST(Shrinkage, AKindOfFewGroupsGoesWithItsClass) {
  const std::string few = "loop_fusion bound by units", other = "dot bound by matrix";
  const auto gained = trials_of(20, 1, 0.5, {0.5, 0});
  const Shrinkage rule = choose_shrinkage(gained + trials_of(2, 1, 0.5, {0.5, 0}, few) +
                                          trials_of(2, 1, 0.5, {0.5, 0}, other));
  EXPECT_TRUE(rule.kinds.contains(few));
  EXPECT_FALSE(rule.kinds.contains(other));
}

TEST(Shrinkage, TheSaferOfTwoBelievesWhatBothDo) {
  const Shrinkage both = safer({.c = 1, .kinds = {"a", "b"}}, {.c = 4, .kinds = {"b", "c"}});
  EXPECT_EQ(both.c, 4);
  EXPECT_EQ(both.kinds, (std::set<std::string, std::less<>>{"b"}));
}

TEST(Shrinkage, AKindThatLostIsPhysicsAlone) {
  const std::string lost = "matmul bound by matrix";
  const Shrinkage rule =
      choose_shrinkage(trials_of(20, 1, 0.5, {0.5, 0}) + trials_of(6, 1, 0.1, {-0.1, 0}, lost));
  EXPECT_EQ(rule.c, 0);
  EXPECT_EQ(rule.kinds, (std::set<std::string, std::less<>>{std::string(kAnyKind)}));
  EXPECT_EQ(rule.weight({0.5, 0}, lost), 0);
  EXPECT_EQ(rule.weight({0.5, 0}, kAnyKind), 1);
}

TEST(ChooseShrinkage, BelievesAllWhereEveryOpinionWasRight) {
  EXPECT_EQ(choose_shrinkage(trials_of(kLeastUnits, 2, 0.3, {0.3, 0.2})).c, 0);
}

TEST(ChooseShrinkage, IsPhysicsAloneWithoutGain) {
  EXPECT_EQ(choose_shrinkage({}).c, kPhysicsAlone);
  EXPECT_EQ(choose_shrinkage(trials_of(20, 1, 0, {0.1, 0.1})).c, kPhysicsAlone);
  EXPECT_EQ(choose_shrinkage(trials_of(kLeastUnits - 1, 9, 0.3, {0.3, 0})).c, kPhysicsAlone);
}

// A gain of 1 in one group of ten: a mean of 0.1 with a standard error of 0.1. Smaller gains do not
// count.
TEST(ChooseShrinkage, AsksForMoreGainThanItsStandardError) {
  const auto with_losers = [](double loss) {
    return choose_shrinkage(trials_of(1, 1, 1, {1, 0}) + trials_of(9, 1, 0, {loss, 0}));
  };
  EXPECT_EQ(with_losers(0.01).c, kPhysicsAlone);
  EXPECT_EQ(with_losers(0).c, kPhysicsAlone);
  EXPECT_EQ(choose_shrinkage(trials_of(2, 1, 1, {1, 0}) + trials_of(8, 1, 0, {0, 0})).c, 0);
}

TEST(ChooseShrinkage, EveryGroupCountsAlike) {
  EXPECT_EQ(choose_shrinkage(trials_of(1, 500, 1, {1, 0}) + trials_of(9, 1, 0, {0.3, 0})).c,
            kPhysicsAlone);
}

// Members are right when they agree, and wrong otherwise.
TEST(ChooseShrinkage, BelievesAgreementOnlyWhereThatIsWhatTells) {
  const Shrinkage rule =
      choose_shrinkage(trials_of(20, 1, 0.4, {0.4, 0.02}) + trials_of(20, 1, 0, {0.4, 0.8}));
  EXPECT_GT(rule.c, 0);
  EXPECT_LT(rule.c, kPhysicsAlone);
  EXPECT_GT(rule.weight({0.4, 0.02}, kAnyKind), 0.8);
  EXPECT_LT(rule.weight({0.4, 0.8}, kAnyKind), 0.1);
}

// The kernel's share of the time is `share`: share x exp(correction) + rest, divided by the
// measured time.
TEST(WholeError, CountsTheHostsDispatch) {
  for (const double share : {0.1, 0.5, 1.0}) {
    const Trial trial{.residual = 0.4, .share = share};
    const double measured = 1, rest = 1 - share;
    EXPECT_NEAR(whole_error(trial, 0.1), std::log((share * std::exp(0.1 - 0.4) + rest) / measured),
                1e-12);
    EXPECT_NEAR(whole_error(trial, 0.4), 0, 1e-12);
  }
}

}  // namespace
}  // namespace tilecast::hybrid

// Does a trust believe what trials showed, and do its intervals hold what they promise?
#include "hybrid/trust.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "base/error.h"

namespace tilecast::hybrid {
namespace {

using analytical::Verdict;
using testing::HasSubstr;

// Draws that are the same in every standard library.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : engine_(seed) {}
  double unit() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() {  // Box and Muller (1958)
    return std::sqrt(-2 * std::log(unit())) * std::cos(2 * std::numbers::pi * unit());
  }
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(unit() * static_cast<double>(n));
  }

 private:
  std::mt19937_64 engine_;
};

constexpr auto kMatrix = static_cast<std::size_t>(Resource::kMatrix);
constexpr double kFar = std::numeric_limits<double>::infinity();

// Of a kernel that the matrix unit alone binds.
Position known_at(double distance, double machine = 0) {
  Position position{.machine = machine};
  position.shares[kMatrix] = 1;
  position.distance.fill(std::numeric_limits<float>::infinity());
  position.distance[kMatrix] = static_cast<float>(distance);
  return position;
}

Trial trial(double residual, double predicted, std::uint32_t group, double distance = 0) {
  return {.residual = residual,
          .predicted = predicted,
          .position = known_at(distance),
          .time = 1e-6,
          .kind = "dot",
          .group = group,
          .family = group};
}

double near_weight(const Trials& trials) {
  return Trust(trials).assess(known_at(0), "dot", 1e-6).weight;
}

// `n` groups of one trial: residuals normal, predictions `of` them.
template <class Prediction>
Trials trials_where(std::size_t n, std::uint64_t seed, Prediction&& of) {
  Draws draws(seed);
  Trials trials;
  for (std::size_t i = 0; i < n; ++i) {
    const double residual = 0.3 * draws.normal();
    trials.base.push_back(trial(residual, of(residual, draws), static_cast<std::uint32_t>(i)));
  }
  return trials;
}

TEST(TrustWeight, IsWhatMakesAnExaggeratingLearnerRight) {
  for (const auto& [exaggeration, weight] : {std::pair(1.0, 1.0), std::pair(2.0, 0.5)}) {
    const Trials trials =
        trials_where(50, 3, [k = exaggeration](double r, Draws&) { return k * r; });
    EXPECT_NEAR(near_weight(trials), weight, 0.05) << exaggeration;
  }
  const Trials timid = trials_where(50, 3, [](double r, Draws&) { return r / 2; });
  EXPECT_DOUBLE_EQ(near_weight(timid), 1);  // never more than the learner assessment
}

TEST(TrustWeight, IsNoneForALearnerThatIsWrong) {
  EXPECT_EQ(near_weight(trials_where(50, 3, [](double r, Draws&) { return -r; })), 0);
  EXPECT_EQ(near_weight(trials_where(50, 3, [](double, Draws&) { return 0.0; })), 0);
}

TEST(TrustWeight, IsHardlyAnyForNoise) {
  double sum = 0, most = 0;
  int believed = 0;
  const int seeds = 200;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Trials trials = trials_where(60, static_cast<std::uint64_t>(seed),
                                       [](double, Draws& draws) { return 0.3 * draws.normal(); });
    const double weight = near_weight(trials);
    sum += weight;
    most = std::max(most, weight);
    believed += weight > 0 ? 1 : 0;
  }
  EXPECT_LT(sum / seeds, 0.05);
  EXPECT_LE(most, 0.5);
  EXPECT_LT(believed, seeds / 4);  // the standard error lets about one in six pass
}

TEST(TrustWeight, CountsEveryGroupAlike) {
  Trials trials;
  for (int row = 0; row < 1000; ++row) trials.base.push_back(trial(0.3, 0.3, 0));
  for (std::uint32_t group = 1; group < 10; ++group) {
    trials.base.push_back(trial(0.3, -0.3, group));
  }
  EXPECT_EQ(near_weight(trials), 0);
}

TEST(TrustWeight, IsNoneWithoutASecondGroup) {
  Trials trials;
  for (int row = 0; row < 100; ++row) trials.base.push_back(trial(0.3, 0.3, 0));
  EXPECT_EQ(near_weight(trials), 0);
}

// Nine kernels that the learner thinks twice as slow as they are, nine that it thinks half as slow:
// rows of these are mostly dispatch, so that their own time hardly shows.
TEST(TrustWeight, OfRowsThatAreMostlyDispatchOnlyTheWholeTimeCounts) {
  Trials trials;
  for (std::uint32_t group = 0; group < 9; ++group) {
    trials.base.push_back(trial(0.1, 0.2, group));
    trials.base.push_back(trial(0.8, 0.4, 9 + group));
  }
  EXPECT_EQ(near_weight(trials), 1);  // gains more from these than it loses on those
  for (Trial& each : trials.base) {
    if (each.group >= 9) each.share = 0.002;
  }
  EXPECT_NEAR(near_weight(trials), 0.5, 0.05);
}

TEST(TrustWeight, FallsFromNearToFarAndIsNoneBeyond) {
  Trials trials;  // right up to a distance of 1, half right beyond
  for (std::uint32_t group = 0; group < 20; ++group) {
    const bool far = group >= 16;
    const double residual = 0.2 + 0.01 * group;
    trials.base.push_back(trial(residual, far ? 2 * residual : residual, group, far ? 2 : 1));
  }
  const Trust trust(trials);
  const Trust::Reach& reach = trust.reach(Resource::kMatrix);
  EXPECT_NEAR(reach.near, 1.2, 1e-6);  // the 0.8-quantile, type 7: between ranks 15 and 16
  EXPECT_DOUBLE_EQ(reach.far, 2);
  const auto weight = [&](double distance) {
    return trust.assess(known_at(distance), "dot", 1e-6).weight;
  };
  EXPECT_DOUBLE_EQ(weight(0), 1);
  EXPECT_DOUBLE_EQ(weight(1.19), 1);
  const double far = weight(2);
  EXPECT_NEAR(weight(1.6), (1 + far) / 2, 1e-6);
  EXPECT_LE(far, 1);
  EXPECT_EQ(weight(2.001), 0);
}

// Few groups: their scatter is hardly known, so less is believed; more trials never flip it.
TEST(TrustWeight, GrowsSmoothlyWithTheNumberOfGroups) {
  double before = 0;
  for (const std::uint32_t groups : {3U, 6U, 12U, 24U, 48U, 96U}) {
    Trials trials;
    for (std::uint32_t i = 0; i < groups; ++i) {  // one in three is misled
      for (int row = 0; row < 8; ++row) {
        trials.base.push_back(trial(0.2, i % 3 == 0 ? -0.2 : 0.2, i));
      }
    }
    const double weight = near_weight(trials);
    EXPECT_GE(weight, before) << groups;
    before = weight;
  }
  EXPECT_GT(before, 0);
}

TEST(TrustWeight, IsNoneForAKindThatLostToPhysics) {
  Trials trials;
  for (std::uint32_t i = 0; i < 60; ++i) {
    trials.base.push_back(trial(0.3, 0.3, i));
    trials.base.push_back(trial(0.1, -0.2, 100 + i));
    trials.base.back().kind = "reduce";
  }
  const Trust trust(trials);
  EXPECT_EQ(trust.assess(known_at(0), "dot", 1e-6).weight, 1);
  EXPECT_EQ(trust.assess(known_at(0), "reduce", 1e-6).weight, 0);
}

// Three devices gain by what they share; on the fourth the opposite is true.
TEST(TrustWeight, OfADeviceThatLostIsNoMoreThanItsOwnTrialsDeserve) {
  Trials trials;
  for (std::uint32_t i = 0; i < 240; ++i) {
    const bool loses = i % 4 == 3;
    trials.base.push_back(trial(loses ? -0.1 : 0.3, 0.3, i));
    trials.base.back().device = loses ? "d" : std::string(1, static_cast<char>('a' + i % 4));
  }
  const Trust trust(trials);
  const auto weight = [&](std::string_view device) {
    return trust.assess(known_at(0), "dot", 1e-6, device).weight;
  };
  EXPECT_GT(weight(""), 0.9);
  EXPECT_EQ(weight("a"), weight(""));
  EXPECT_EQ(weight("d"), 0);
  const Trust read = Trust::load(trust.save(), "trust.yaml");
  EXPECT_EQ(read.save(), trust.save());
  EXPECT_EQ(read.assess(known_at(0), "dot", 1e-6, "d").weight, 0);
}

TEST(Trust, HoldsResidualsWithinWhatTrialsSaw) {
  Trials trials;
  for (std::uint32_t i = 0; i <= 100; ++i) trials.base.push_back(trial(0.01 * i - 0.2, 0, i));
  const Trust trust(trials);
  EXPECT_NEAR(trust.held(5), 0.79, 1e-9);    // the 0.99-quantile
  EXPECT_NEAR(trust.held(-5), -0.19, 1e-9);  // the 0.01-quantile
  EXPECT_EQ(trust.held(0.3), 0.3);
  EXPECT_EQ(Trust().held(0.3), 0);
}

Trials random_trials(std::uint64_t seed) {
  Draws draws(seed);
  Trials trials;
  const std::size_t n = 2 + draws.below(80), groups = 1 + draws.below(n);
  const double skill = 2 * draws.unit() - 0.5, spread = draws.unit();
  const auto fill = [&](std::vector<Trial>& some, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const double residual = spread * draws.normal();
      Trial one = trial(residual, skill * residual + 0.2 * draws.normal(),
                        static_cast<std::uint32_t>(draws.below(groups)),
                        draws.below(4) == 0 ? 0 : 3 * draws.unit());
      one.share = std::max(0.02, draws.unit());
      one.time = std::exp(4 * draws.normal() - 10);
      one.kind = draws.below(2) == 0 ? "dot" : "reduce-window";
      one.family = one.group / 3;
      some.push_back(one);
    }
  };
  fill(trials.base, n);
  if (draws.below(2) == 0) fill(trials.by_kind, n / 2);
  if (draws.below(2) == 0) fill(trials.by_device, n / 2);
  return trials;
}

TEST(Trust, IsNeverSurerFartherAway) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Trust trust(random_trials(seed));
    for (const double machine : {0.0, 0.1, 1.0}) {
      Trust::Assessment before = trust.assess(known_at(0, machine), "dot", 1e-5);
      EXPECT_LE(before.weight, trust.assess(known_at(0), "dot", 1e-5).weight);
      for (double distance = 0.05; distance < 4; distance += 0.05) {
        const Trust::Assessment assessment = trust.assess(known_at(distance, machine), "dot", 1e-5);
        EXPECT_GE(assessment.weight, 0);
        EXPECT_LE(assessment.weight, before.weight + 1e-12) << seed << " " << distance;
        EXPECT_LE(assessment.low, before.low);
        EXPECT_GE(assessment.high, before.high);
        EXPECT_GE(static_cast<int>(assessment.verdict), static_cast<int>(before.verdict));
        before = assessment;
      }
      EXPECT_EQ(before.weight, 0);  // beyond every distance tried
    }
  }
}

TEST(TrustVerdict, IsInEdgeOrOutByDistanceAndMachine) {
  Trials trials;
  for (std::uint32_t i = 0; i <= 10; ++i) trials.base.push_back(trial(0, 0, i, 0.1 * i));
  const auto verdict = [&](const Position& position) {
    return Trust(trials).assess(position, "dot", 1e-6).verdict;
  };
  EXPECT_EQ(verdict(known_at(0.79)), Verdict::kIn);
  EXPECT_EQ(verdict(known_at(0.9)), Verdict::kEdge);
  EXPECT_EQ(verdict(known_at(1.1)), Verdict::kOut);
  EXPECT_EQ(verdict(known_at(kFar)), Verdict::kOut);
  EXPECT_EQ(verdict(known_at(0, 0.3)), Verdict::kOut);  // no trials without devices
  for (const Trial& each : trials.base) {
    trials.by_device.push_back(each);
    trials.by_device.back().position.machine = 0.5;
  }
  EXPECT_EQ(verdict(known_at(0, 0.3)), Verdict::kEdge);
  EXPECT_EQ(verdict(known_at(0, 0.6)), Verdict::kOut);
}

TEST(TrustVerdict, NamesTheResourceThatIsFarthest) {
  Trials trials;
  for (std::uint32_t i = 0; i <= 10; ++i) trials.base.push_back(trial(0, 0, i, 0.1 * i));
  Position position = known_at(0);
  constexpr auto kCross = static_cast<std::size_t>(Resource::kCrossLane);
  position.shares[kMatrix] = 0.6F;
  position.shares[kCross] = 0.4F;
  const Trust::Assessment assessment = Trust(trials).assess(position, "dot", 1e-6);
  EXPECT_EQ(assessment.verdict, Verdict::kOut);
  EXPECT_EQ(assessment.farthest, Resource::kCrossLane);
}

TEST(TrustVerdict, OfOneKernelWithManyTilesIsInForItAndOutForOthers) {
  Trials trials;
  for (std::uint32_t row = 0; row < 20; ++row) trials.base.push_back(trial(0.2, 0.2, row));
  const Trust trust(trials);
  const Trust::Assessment same = trust.assess(known_at(0), "dot", 1e-6);
  EXPECT_EQ(same.verdict, Verdict::kIn);
  EXPECT_EQ(same.weight, 1);
  const Trust::Assessment other = trust.assess(known_at(0.01), "dot", 1e-6);
  EXPECT_EQ(other.verdict, Verdict::kOut);
  EXPECT_EQ(other.weight, 0);
  EXPECT_GE(other.high, 0.2);  // what physics alone was wrong by
}

TEST(TrustUnknown, KindHasTheWeightThatTrialsWithoutKindsDeserved) {
  Trials trials = trials_where(50, 3, [](double r, Draws&) { return r; });
  const auto weight = [&](double distance) {
    return Trust(trials).assess(known_at(distance), "sort", 1e-6).weight;
  };
  EXPECT_EQ(weight(0), 0);
  for (const Trial& each : trials.base) {
    trials.by_kind.push_back(trial(each.residual / 2, each.residual, each.group % 5));
  }
  EXPECT_EQ(weight(0), 0.5);
  EXPECT_EQ(weight(0.1), 0);
}

TEST(TrustUnknown, KindIsPhysicsAloneWhereOneLeftOutKindGotWorse) {
  Trials trials = trials_where(50, 3, [](double r, Draws&) { return r; });
  for (const Trial& each : trials.base) {
    const bool misled = each.group % 5 == 0;
    trials.by_kind.push_back(
        trial(each.residual, misled ? -each.residual : each.residual, each.group % 5));
  }
  EXPECT_EQ(Trust(trials).assess(known_at(0), "sort", 1e-6).weight, 0);
}

TEST(TrustUnknown, MachineGoesToTheWeightThatTrialsWithoutDevicesDeserved) {
  Trials trials = trials_where(50, 3, [](double r, Draws&) { return r; });
  const auto weight = [&](double machine) {
    return Trust(trials).assess(known_at(0, machine), "dot", 1e-6).weight;
  };
  EXPECT_EQ(weight(kSameMachine), 1);
  EXPECT_NEAR(weight(kAlike / 2), 0.5, 1e-12);
  EXPECT_EQ(weight(kAlike), 0);
  for (const Trial& each : trials.base) {
    trials.by_device.push_back(trial(each.residual / 4, each.residual, each.group % 5));
    trials.by_device.back().position.machine = 0.4;
  }
  EXPECT_NEAR(weight(0.2), (1 + 0.25) / 2, 1e-12);
  EXPECT_NEAR(weight(0.4), 0.25, 1e-12);
  EXPECT_EQ(weight(0.41), 0);
}

TEST(TrustInterval, IsUnknownWithoutTrialsAndAtLeastThatForAFew) {
  const Trust::Assessment nothing = Trust().assess(known_at(0), "dot", 1);
  EXPECT_EQ(nothing.weight, 0);
  EXPECT_EQ(nothing.high, std::log(5));
  EXPECT_EQ(nothing.low, -std::log(5));
  const Trials four = trials_where(4, 1, [](double, Draws&) { return 0.0; });
  EXPECT_GE(Trust(four).assess(known_at(0), "dot", 1).high, std::log(5));
  const Trials five = trials_where(5, 1, [](double, Draws&) { return 0.0; });
  double most = 0;
  for (const Trial& each : five.base) most = std::max(most, std::abs(each.residual));
  const Trust::Assessment assessment = Trust(five).assess(known_at(0), "dot", 1);
  EXPECT_GT(assessment.high, most);
  EXPECT_LT(assessment.high, 1.5 * most);
  EXPECT_EQ(assessment.low, -assessment.high);
}

TEST(TrustInterval, WithoutTrialsOfNewKindsIsUnknownForThese) {
  const Trials trials = trials_where(50, 3, [](double r, Draws&) { return r; });
  const Trust::Assessment assessment = Trust(trials).assess(known_at(0), "sort", 1);
  EXPECT_GE(assessment.high, std::log(5));
  EXPECT_LE(assessment.low, -std::log(5));
}

// Ranks ceil((n + 1) q): of errors -50 ... 49 hundredths, 5 % and 95 %.
TEST(TrustInterval, TakesTheRanksOfSplitConformalPrediction) {
  Trials trials;
  for (int i = 0; i < 100; ++i) {
    trials.base.push_back(trial((i - 50) / 100.0, 0, static_cast<std::uint32_t>(i)));
  }
  const Trust::Assessment two_sided = Trust(trials).assess(known_at(0), "dot", 1);
  const int beyond = 100 - 96;  // rank ceil(101 x 0.95)
  EXPECT_DOUBLE_EQ(two_sided.high, (49 - beyond) / 100.0);
  EXPECT_DOUBLE_EQ(two_sided.low, -(50 - beyond) / 100.0);
  trials.base.resize(59);  // the largest 0.50, 0.49 ...
  const Trust::Assessment symmetric = Trust(trials).assess(known_at(0), "dot", 1);
  EXPECT_DOUBLE_EQ(symmetric.high, 0.45);  // rank ceil(60 x 0.9) = 54 of 59: five are larger
  EXPECT_DOUBLE_EQ(symmetric.low, -0.45);
}

// Classes with errors of their own sizes, times that say nothing: 90 % of new draws, by class.
TEST(TrustInterval, Holds90PercentOfExchangeableDraws) {
  Draws draws(11);
  const std::vector<std::string> classes{"dot", "reduce", "copy"};
  const auto draw = [&](std::uint32_t group) {
    const std::size_t kind = draws.below(classes.size());
    const double spread = 0.05 * std::pow(3, static_cast<double>(kind));
    Trial one = trial(0.1 + spread * draws.normal(), 0.1, group, draws.unit());
    one.kind = classes[kind];
    one.time = draws.unit();
    return one;
  };
  for (const std::size_t n : {8, 15, 40, 100, 400}) {
    std::size_t inside = 0, asked = 0;
    for (int repeat = 0; repeat < 120; ++repeat) {
      Trials trials;
      for (std::size_t i = 0; i < n; ++i)
        trials.base.push_back(draw(static_cast<std::uint32_t>(i)));
      const Trust trust(trials);
      for (int i = 0; i < 100; ++i) {
        const Trial next = draw(0);
        const Trust::Assessment assessment = trust.assess(next.position, next.kind, next.time);
        if (assessment.verdict == Verdict::kOut) continue;
        const double error = next.residual - assessment.weight * next.predicted;
        inside += error >= assessment.low && error <= assessment.high ? 1 : 0;
        ++asked;
      }
    }
    const double coverage = static_cast<double>(inside) / static_cast<double>(asked);
    EXPECT_GE(coverage, 0.87) << n;
    EXPECT_LE(coverage, 0.94) << n;
  }
}

// Ten rows of a kernel share most of their error: a new kernel is still held.
TEST(TrustInterval, HoldsNewKernelsWhoseRowsAreWrongAlike) {
  Draws draws(5);
  for (const std::uint32_t kernels : {8U, 20U, 60U}) {
    std::size_t inside = 0, asked = 0;
    for (int repeat = 0; repeat < 200; ++repeat) {
      Trials trials;
      for (std::uint32_t kernel = 0; kernel < kernels; ++kernel) {
        const double shared = 0.2 * draws.normal();
        for (int row = 0; row < 10; ++row) {
          trials.base.push_back(trial(shared + 0.1 * draws.normal(), 0, kernel));
        }
      }
      const Trust::Assessment assessment = Trust(trials).assess(known_at(0), "dot", 1e-6);
      for (int i = 0; i < 50; ++i) {
        const double error = 0.2 * draws.normal() + 0.1 * draws.normal();
        inside += error >= assessment.low && error <= assessment.high ? 1 : 0;
        ++asked;
      }
    }
    const double coverage = static_cast<double>(inside) / static_cast<double>(asked);
    EXPECT_GE(coverage, 0.87) << kernels;
    EXPECT_LE(coverage, 0.96) << kernels;
  }
}

TEST(TrustInterval, IsOfTheClassAndItsHalfOfSizes) {
  Draws draws(2);
  Trials trials;
  for (std::uint32_t i = 0; i < 400; ++i) {
    const bool is_long = i % 2 == 0, wild = i % 4 < 2;
    Trial one = trial((wild ? 0.5 : 0.05) * (is_long ? 0.1 : 1) * draws.normal(), 0, i);
    one.kind = wild ? "gather" : "dot";
    one.time = is_long ? 1e-2 : 1e-5;
    trials.base.push_back(one);
  }
  const Trust trust(trials);
  const auto high = [&](const std::string& kind, double time) {
    return trust.assess(known_at(0), kind, time).high;
  };
  EXPECT_GT(high("gather", 1e-5), 3 * high("dot", 1e-5));
  EXPECT_GT(high("gather", 1e-5), 3 * high("gather", 1e-2));
  EXPECT_GT(high("dot", 1e-5), 3 * high("dot", 1e-2));
  EXPECT_GE(high("never", 1e-5), std::log(5));
}

// Four far kernels alone would say nothing; with the next farthest they do.
TEST(TrustInterval, AtTheEdgeIsOfAsManyFarKernelsAsAreEnough) {
  Draws draws(9);
  Trials trials;
  for (std::uint32_t kernel = 0; kernel < 20; ++kernel) {
    const double shared = 0.1 * draws.normal();
    for (int row = 0; row < 10; ++row) {
      trials.base.push_back(trial(shared + 0.02 * draws.normal(), 0, kernel, 0.1 * kernel));
    }
  }
  const Trust trust(trials);
  const Trust::Assessment edge = trust.assess(known_at(1.8), "dot", 1e-6);
  EXPECT_EQ(edge.verdict, Verdict::kEdge);
  EXPECT_GT(edge.high, 0.1);
  EXPECT_LT(edge.high, 0.4);
}

// A kernel that takes e^r of what physics says, in a row of which it is `share`.
TEST(TrustInterval, IsOfTheRowsWholeTime) {
  constexpr double kShare = 0.05, kResidual = 0.7;
  Trials trials;
  for (std::uint32_t i = 0; i < 240; ++i) {
    trials.base.push_back(trial(i % 2 == 0 ? kResidual : -kResidual, 0, i));
    trials.base.back().share = kShare;
  }
  const Trust::Assessment assessment = Trust(trials).assess(known_at(0), "dot", 1e-6);
  EXPECT_NEAR(assessment.high, std::log1p(kShare * std::expm1(kResidual)), 1e-12);
  EXPECT_NEAR(assessment.low, std::log1p(kShare * std::expm1(-kResidual)), 1e-12);
}

TEST(TrustInterval, HoldsThePredictionEvenWherePhysicsIsAlwaysTooFast) {
  Trials trials;
  for (std::uint32_t i = 0; i < 100; ++i) trials.base.push_back(trial(1 + 0.001 * i, 0, i));
  const Trust::Assessment assessment = Trust(trials).assess(known_at(0), "dot", 1e-6);
  EXPECT_EQ(assessment.low, 0);
  EXPECT_GT(assessment.high, 1);
}

// Families of two: y = a, b in each; ANOVA by hand.
TEST(TrustCorrelation, IsTheIntraclassCorrelationOfFamilies) {
  const auto correlation = [](const std::vector<std::vector<double>>& families) {
    Trials trials;
    std::uint32_t family = 0, row = 0;
    for (const auto& errors : families) {
      for (const double error : errors) {
        trials.base.push_back(trial(error, 0, row++));
        trials.base.back().family = family;
      }
      ++family;
    }
    return Trust(trials).correlation();
  };
  EXPECT_EQ(correlation({}), 1);
  EXPECT_EQ(correlation({{1, 1}, {2, 2}}), 0);  // too few families
  EXPECT_DOUBLE_EQ(correlation({{1, 1}, {2, 2}, {3, 3}}), 1);
  EXPECT_EQ(correlation({{-1, 1}, {-1, 1}, {-1, 1}}), 0);  // clipped
  // Means 1, 2, 3: between = 2 x 2 / 2 = 2; within = 3 x 2 x 0.25 / 3 = 0.5; pairs: n0 = 2.
  EXPECT_DOUBLE_EQ(correlation({{0.5, 1.5}, {1.5, 2.5}, {2.5, 3.5}}), (2 - 0.5) / (2 + 0.5));
}

TEST(TrustText, SurvivesSavingAndLoading) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Trust trust(random_trials(seed));
    const std::string text = trust.save();
    const Trust read = Trust::load(text, "trust.yaml");
    EXPECT_EQ(read.save(), text);
    for (double distance = 0; distance < 4; distance += 0.25) {
      const Trust::Assessment a = trust.assess(known_at(distance), "dot", 1e-5);
      const Trust::Assessment b = read.assess(known_at(distance), "dot", 1e-5);
      EXPECT_EQ(a.weight, b.weight);
      EXPECT_EQ(a.verdict, b.verdict);
      EXPECT_EQ(a.low, b.low);
      EXPECT_EQ(a.high, b.high);
    }
  }
  EXPECT_EQ(Trust::load(Trust().save(), "t").save(), Trust().save());
}

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(Trust::load(text, "trust.yaml"));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& old, const std::string& with) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), with);
}

TEST(TrustText, ThatIsWrongIsNamedByFileAndLine) {
  const std::string text = Trust().save();
  EXPECT_EQ(message_of(text), "no error");
  EXPECT_THAT(message_of(""), HasSubstr("trust.yaml"));
  EXPECT_THAT(message_of(replaced(text, "trust/2", "trust/1")),
              HasSubstr("trust.yaml:1:1: format: got 'tilecast.trust/1', expected"));
  EXPECT_THAT(message_of(replaced(text, "correlation: 1", "correlation: -1")),
              HasSubstr("trust.yaml:2:1: correlation: got '-1', expected a number from 0"));
  EXPECT_THAT(message_of(replaced(text, "near: 0", "near: nan")), HasSubstr("got 'nan'"));
  EXPECT_THAT(message_of(replaced(text, "near: 0, far: 0,", "near: 0, far: 0.5,")),
              HasSubstr("far: got '0.5', expected a number from 0 to 0"));
  EXPECT_THAT(message_of(replaced(text, "\"read\"", "\"reads\"")),
              HasSubstr("got 'reads', expected read"));
  EXPECT_THAT(message_of(replaced(text, "far_bands", "fat_bands")),
              HasSubstr("did you mean 'far_bands'"));
  EXPECT_THAT(message_of(replaced(text, "trials: 0", "trials: 0.5")),
              HasSubstr("expected a whole number"));
  EXPECT_THAT(
      message_of(replaced(text, "sizes: []",
                          "sizes: [{kind: a, short: {low: 0, high: 0, trials: 1}, long: {low: 0, "
                          "high: 0, trials: 1}}]")),
      HasSubstr("a kind without a median time"));
}

TEST(TrustText, ThatIsCutAnywhereIsAnErrorOrWhole) {
  const std::string text = Trust(random_trials(7)).save();
  for (std::size_t size = 0; size < text.size(); size += 3) {
    const std::string message = message_of(text.substr(0, size));
    if (message != "no error") {
      EXPECT_THAT(message, HasSubstr("trust.yaml"));
    }
  }
}

}  // namespace
}  // namespace tilecast::hybrid

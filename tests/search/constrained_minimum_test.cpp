// Functions whose constrained minimum is known in closed form.
#include "search/constrained_minimum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

namespace tilecast::search {
namespace {

using Values = std::span<const double>;

double square(double x) {
  return x * x;
}

Trial trial_of(double value, std::vector<double> slacks) {
  bool feasible = true;
  for (const double slack : slacks) feasible = feasible && slack >= 0;
  return {value, std::move(slacks), feasible};
}

double least(const Minimum& found) {
  return found.trials.at(found.best.value()).value;
}

// Runtime of a machine with bandwidth b and clock c, with area b + c = 1: a / b + 1 / c is minimal
// at b = sqrt(a) / (1 + sqrt(a)), with the value (1 + sqrt(a))^2.
TEST(ConstrainedMinimum, MeetsTheClosedFormOfABalancedMachine) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> weights(0.1, 10);
  for (int i = 0; i < 20; ++i) {
    const double a = weights(random);
    const Minimum found =
        constrained_minimum({.levels = {0, 0},
                             .constraints = 1,
                             .evaluations = 200,
                             .seed = static_cast<std::uint64_t>(i),
                             .evaluate = [&](Values x) {
                               const double b = 0.01 + x[0], c = 0.01 + x[1];
                               return trial_of(1e-6 * (a / b + 1 / c), {1 - b - c});
                             }});
    const double expected = 1e-6 * square(1 + std::sqrt(a));
    EXPECT_GE(least(found), expected * (1 - 1e-12));
    EXPECT_LE(least(found), expected * (1 + 1e-4)) << "a = " << a;
    EXPECT_LE(found.trials.size(), 200U);
  }
}

TEST(ConstrainedMinimum, FindsABoundWhereTheFunctionFallsTowardsIt) {
  const Minimum found =
      constrained_minimum({.levels = {0, 0, 0}, .evaluations = 150, .evaluate = [](Values x) {
                             return trial_of(3 - x[0] + x[1] + square(x[2] - 0.3), {});
                           }});
  EXPECT_NEAR(least(found), 2, 1e-5);
}

// Rastrigin's function has 11 x 11 local minima in this cube; the global one is 0 at (0.6, 0.6).
TEST(ConstrainedMinimum, LeavesLocalMinima) {
  const auto rastrigin = [](double x) {
    return 10 + square(10 * (x - 0.6)) - 10 * std::cos(2 * M_PI * 10 * (x - 0.6));
  };
  const Minimum found =
      constrained_minimum({.levels = {0, 0}, .evaluations = 2000, .evaluate = [&](Values x) {
                             return trial_of(rastrigin(x[0]) + rastrigin(x[1]), {});
                           }});
  EXPECT_LT(least(found), 1e-6);
}

// An integer n and a share x with n x <= limit, compared with all n and their best x.
TEST(ConstrainedMinimum, RoundsDimensionsWithLevelsAsWellAsTryingAll) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 20; ++i) {
    const double want = 1 + 14 * unit(random), limit = 2 + 6 * unit(random);
    const auto value = [&](double n, double x) { return square(n - want) / 16 + 1 / (0.1 + x); };
    double expected = 1e300;
    for (int n = 1; n <= 16; ++n) {
      expected = std::min(expected, value(n, std::min(1.0, limit / n)));
    }
    const Minimum found = constrained_minimum(
        {.levels = {16, 0}, .constraints = 1, .evaluations = 250, .evaluate = [&](Values x) {
           const double n = 1 + std::floor(16 * x[0]);
           return trial_of(value(n, x[1]), {(limit - n * x[1]) / limit});
         }});
    EXPECT_GE(least(found), expected * (1 - 1e-12));
    EXPECT_LE(least(found), expected * (1 + 1e-4)) << "want " << want << ", limit " << limit;
  }
}

TEST(ConstrainedMinimum, AsksForNoPointTwiceAndEndsWhereThereAreFewer) {
  const Minimum found =
      constrained_minimum({.levels = {3, 4}, .evaluations = 1000, .evaluate = [](Values x) {
                             return trial_of(square(x[0] - 0.1) + square(x[1] - 0.9), {});
                           }});
  EXPECT_EQ(found.trials.size(), 12U);
  EXPECT_EQ(found.points[*found.best], (std::vector<double>{0.5 / 3, 3.5 / 4}));
}

TEST(ConstrainedMinimum, GoesAroundPointsWithoutAnAnswer) {
  const Minimum found = constrained_minimum(
      {.levels = {0, 0}, .evaluations = 400, .evaluate = [](Values x) {
         const bool none = square(x[0] - 0.5) + square(x[1] - 0.5) < 0.04;
         return trial_of(none ? std::nan("") : square(x[0] - 0.5) + square(x[1] - 0.5), {});
       }});
  EXPECT_NEAR(least(found), 0.04, 1e-3);
}

TEST(ConstrainedMinimum, HasNoBestWhereNothingIsFeasible) {
  const Minimum found = constrained_minimum(
      {.levels = {0}, .constraints = 1, .evaluations = 40, .evaluate = [](Values x) {
         return trial_of(x[0], {-0.1 - x[0]});
       }});
  EXPECT_FALSE(found.best.has_value());
  EXPECT_EQ(found.trials.size(), 40U);
}

TEST(ConstrainedMinimum, IsTheSameForASeedAndStopsWhenAsked) {
  int asked = 0;
  MinimumOptions options{.levels = {0, 7, 0}, .evaluations = 120, .evaluate = [&](Values x) {
                           ++asked;
                           return trial_of(std::sin(9 * x[0]) + x[1] * x[2], {});
                         }};
  const Minimum one = constrained_minimum(options), two = constrained_minimum(options);
  EXPECT_EQ(one.points, two.points);
  EXPECT_EQ(one.best, two.best);
  options.seed = 2;
  EXPECT_NE(constrained_minimum(options).points, one.points);
  asked = 0;
  options.stop = [&] { return asked == 17; };
  EXPECT_EQ(constrained_minimum(options).points.size(), 17U);
}

TEST(ConstrainedMinimum, ThrowsWhatTheFunctionThrows) {
  int asked = 0;
  const MinimumOptions options{.levels = {0, 0}, .evaluate = [&](Values) -> Trial {
                                 if (++asked == 25) throw std::domain_error("at 25");
                                 return {static_cast<double>(asked), {}, true};
                               }};
  EXPECT_THROW((void)constrained_minimum(options), std::domain_error);
}

}  // namespace
}  // namespace tilecast::search

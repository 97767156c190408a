// A Gaussian process satisfies its equations, and its hyper-parameters are the likeliest.
#include "search/gaussian_process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>

#include "search/constrained_minimum.h"
#include "search/pareto.h"
#include "search/sampling.h"

namespace tilecast::search {
namespace {

constexpr GpHyper kHyper{.amplitude = 0.7, .length = 1.3, .noise = 0.2};
constexpr double kClose = 1e-12;

double squared(double x) {
  return x * x;
}
const double kSignal = squared(kHyper.amplitude), kNoise = squared(kHyper.noise);

double covariance(double distance) {
  return kSignal * std::exp(-squared(distance) / (2 * squared(kHyper.length)));
}

std::vector<double> squares_to(double x, const std::vector<double>& places) {
  std::vector<double> squares;
  for (const double place : places) squares.push_back(squared(x - place));
  return squares;
}
// Points on a line.
GpPoints points_at(const std::vector<double>& places, std::vector<double> targets) {
  GpPoints points{.squares = {}, .targets = std::move(targets)};
  for (const double place : places) {
    const std::vector<double> squares = squares_to(place, places);
    points.squares.insert(points.squares.end(), squares.begin(), squares.end());
  }
  return points;
}

// In [0, 1), equal on all platforms.
double uniform(std::mt19937_64& engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-53;
}
std::vector<double> places(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<double> result(count);
  std::ranges::generate(result, [&] { return 4 * uniform(engine) - 2; });
  return result;
}
// A smooth function plus noise.
std::vector<double> wave(const std::vector<double>& places, double deviation = 0) {
  std::mt19937_64 engine(16);
  std::vector<double> result;
  for (const double x : places) {
    const double noise = std::sqrt(3) * (2 * uniform(engine) - 1);
    result.push_back(std::sin(2 * x) + deviation * noise);
  }
  return result;
}

TEST(GaussianProcess, OfOnePointShrinksItTowardsZero) {
  const GaussianProcess process(points_at({0.5}, {3}), kHyper);
  for (const double x : {0.5, 1.0, -2.0}) {
    const double k = covariance(x - 0.5);
    const GaussianProcess::Answer answer = process.predict(squares_to(x, {0.5}));
    EXPECT_NEAR(answer.mean, k / (kSignal + kNoise) * 3, kClose);
    EXPECT_NEAR(answer.variance, kSignal - k * k / (kSignal + kNoise), kClose);
  }
}

TEST(GaussianProcess, OfTwoPointsSolvesTheirEquations) {
  const double y0 = 1, y1 = -2;
  const GaussianProcess process(points_at({0, 1}, {y0, y1}), kHyper);
  const double d = kSignal + kNoise, k = covariance(1), determinant = d * d - k * k;
  for (const double x : {-1.0, 0.0, 0.4, 2.0}) {
    const double k0 = covariance(x), k1 = covariance(x - 1);
    const double to0 = (d * k0 - k * k1) / determinant, to1 = (d * k1 - k * k0) / determinant;
    const GaussianProcess::Answer answer = process.predict(squares_to(x, {0, 1}));
    EXPECT_NEAR(answer.mean, to0 * y0 + to1 * y1, kClose);
    EXPECT_NEAR(answer.variance, kSignal - to0 * k0 - to1 * k1, kClose);
  }
}

TEST(GaussianProcess, FarFromEveryPointIsZeroAndKnowsNothing) {
  const std::vector<double> at = places(40, 1);
  const GaussianProcess process(points_at(at, wave(at)), kHyper);
  const GaussianProcess::Answer answer = process.predict(squares_to(100, at));
  EXPECT_NEAR(answer.mean, 0, 1e-30);
  EXPECT_EQ(answer.variance, kSignal);
}

TEST(GaussianProcess, PassesThroughItsPointsWhereThereIsNoNoise) {
  const std::vector<double> at = places(50, 2), targets = wave(at);
  const GaussianProcess process(points_at(at, targets),
                                {.amplitude = 1, .length = 0.5, .noise = 1e-3});
  for (std::size_t i = 0; i < at.size(); ++i) {
    const GaussianProcess::Answer answer = process.predict(squares_to(at[i], at));
    EXPECT_NEAR(answer.mean, targets[i], 1e-2);
    EXPECT_NEAR(answer.variance, 0, 1e-5);
  }
}

TEST(Evidence, OfOnePointIsANormalDensity) {
  const double variance = kSignal + kNoise;
  EXPECT_NEAR(evidence(points_at({0}, {0.3}), kHyper).log_likelihood,
              -0.5 * (squared(0.3) / variance + std::log(2 * std::acos(-1) * variance)), kClose);
}

TEST(Evidence, DoesNotCareForTheOrderOfPoints) {
  std::vector<double> at = places(37, 3);
  const Evidence one = evidence(points_at(at, wave(at)), kHyper);
  std::ranges::reverse(at);
  EXPECT_NEAR(evidence(points_at(at, wave(at)), kHyper).log_likelihood, one.log_likelihood, 1e-9);
}

TEST(Evidence, HasTheSlopesOfFiniteDifferences) {
  const std::vector<double> at = places(25, 7);
  const GpPoints points = points_at(at, wave(at));
  const Evidence found = evidence(points, kHyper);
  constexpr double kStep = 1e-5;
  const auto expect_slope = [&](double got, double GpHyper::*member) {
    GpHyper more = kHyper, less = kHyper;
    more.*member *= std::exp(kStep);
    less.*member *= std::exp(-kStep);
    const double slope =
        (evidence(points, more).log_likelihood - evidence(points, less).log_likelihood) /
        (2 * kStep);
    EXPECT_NEAR(got, slope, 1e-5 * std::max(1.0, std::fabs(slope)));
  };
  expect_slope(found.by_log_amplitude, &GpHyper::amplitude);
  expect_slope(found.by_log_length, &GpHyper::length);
  expect_slope(found.by_log_noise, &GpHyper::noise);
}

TEST(Evidence, IsMinusInfiniteWherePointsCannotBeToldApart) {
  const GpHyper tiny{.amplitude = 1000, .length = 1, .noise = 1e-9};
  EXPECT_EQ(evidence(points_at({0, 0, 0}, {1, 2, 3}), tiny).log_likelihood, -INFINITY);
}

TEST(LikelyHyper, LearnsASmoothFunctionFromFewPoints) {
  const std::vector<double> at = places(30, 10), held = places(100, 11);
  const GpPoints points = points_at(at, wave(at));
  const GaussianProcess process(points, likely_hyper(points));
  for (const double x : held) {
    EXPECT_NEAR(process.predict(squares_to(x, at)).mean, std::sin(2 * x), 0.05) << x;
  }
}

TEST(LikelyHyper, AreThoseThatFewChangesImprove) {
  const std::vector<double> at = places(60, 10);
  const GpPoints points = points_at(at, wave(at, 0.05));
  const GpHyper best = likely_hyper(points), centre;
  const auto posterior = [&](const GpHyper& hyper) {
    const double off[] = {std::log(hyper.amplitude / centre.amplitude),
                          std::log(hyper.length / centre.length),
                          std::log(hyper.noise / centre.noise)};
    double value = evidence(points, hyper).log_likelihood;
    for (const double x : off) value -= squared(x) / 2;
    return value;
  };
  for (double GpHyper::*member : {&GpHyper::amplitude, &GpHyper::length, &GpHyper::noise}) {
    for (const double factor : {0.8, 1.25}) {
      GpHyper other = best;
      other.*member *= factor;
      EXPECT_LT(posterior(other), posterior(best));
    }
  }
}

TEST(LikelyHyper, FindTheNoise) {
  const std::vector<double> at = places(200, 12);
  EXPECT_NEAR(likely_hyper(points_at(at, wave(at, 0.2))).noise / 0.2, 1, 0.15);
}

TEST(LikelyHyper, HaveAFloorUnderTheNoiseOfExactPoints) {
  const std::vector<double> at = places(60, 10);
  const double noise = likely_hyper(points_at(at, wave(at))).noise;
  EXPECT_GE(noise, GpHyper().noise * std::exp(-4));
  EXPECT_LT(noise, GpHyper().noise / 5);
}

TEST(LikelyHyper, HoldEqualAndOutlyingPoints) {
  const GpPoints equal = points_at({1, 1, 1}, {0.3, 0.3, 0.3});
  const GaussianProcess flat(equal, likely_hyper(equal));
  EXPECT_NEAR(flat.predict(squares_to(1, {1, 1, 1})).mean, 0.3, 0.05);
  const std::vector<double> at = places(40, 15);
  GpPoints wild = points_at(at, wave(at));
  wild.targets[7] = 8;
  const GaussianProcess process(wild, likely_hyper(wild));
  EXPECT_LT(std::fabs(process.predict(squares_to(at[7], at)).mean), 8);
}

TEST(LikelyHyper, AreChosenByASampleOfManyPointsTheSameEveryTime) {
  const std::vector<double> at = places(kMostEvidence + 50, 14);
  const GpPoints points = points_at(at, wave(at, 0.2));
  const GpHyper found = likely_hyper(points);
  EXPECT_EQ(found.noise, likely_hyper(points).noise);
  EXPECT_NEAR(found.noise / 0.2, 1, 0.15);
}

// --- Functions whose constrained minimum is known in closed form.

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

TEST(LatinHypercube, HasOnePointInEveryStratumOfEveryDimension) {
  for (const std::size_t count : {1, 2, 10, 1000}) {
    const Points points = latin_hypercube(count, 3, 7);
    for (std::size_t d = 0; d < 3; ++d) {
      std::set<double> strata;
      for (const auto& point : points) {
        EXPECT_GE(point[d], 0);
        EXPECT_LT(point[d], 1);
        strata.insert(std::floor(point[d] * static_cast<double>(count)));
      }
      EXPECT_EQ(strata.size(), count) << "dimension " << d;
    }
  }
  EXPECT_EQ(latin_hypercube(50, 4, 1), latin_hypercube(50, 4, 1));
  EXPECT_NE(latin_hypercube(50, 4, 1), latin_hypercube(50, 4, 2));
}

// The first 2^k - 1 points and the origin fill every dyadic interval of length 2^-k once.
TEST(Sobol, FillsDyadicIntervalsOnce) {
  constexpr std::size_t kCount = 255;
  const Points points = sobol(kCount, 5);
  for (std::size_t d = 0; d < 5; ++d) {
    std::set<double> cells = {0};
    for (const auto& point : points) cells.insert(std::floor(point[d] * (kCount + 1)));
    EXPECT_EQ(cells.size(), kCount + 1) << "dimension " << d;
  }
  EXPECT_EQ(points[0], std::vector<double>(5, 0.5));
}

bool beats(const std::vector<double>& a, const std::vector<double>& b) {
  bool less = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    less = less || a[i] < b[i];
  }
  return less;
}

TEST(ParetoFront, IsWhatComparingAllPairsLeaves) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::size_t objectives = 1 + random() % 4;
    std::vector<std::vector<double>> points(random() % 30);
    for (auto& point : points) {
      for (std::size_t i = 0; i < objectives; ++i) {
        point.push_back(random() % 20 == 0 ? std::nan("") : static_cast<double>(random() % 6));
      }
    }
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool kept = true;
      for (const double value : points[i]) kept = kept && !std::isnan(value);
      for (const auto& other : points) {
        bool whole = true;
        for (const double value : other) whole = whole && !std::isnan(value);
        kept = kept && !(whole && beats(other, points[i]));
      }
      if (kept) expected.push_back(i);
    }
    EXPECT_EQ(pareto_front(points), expected) << "trial " << trial;
  }
}
}  // namespace
}  // namespace tilecast::search

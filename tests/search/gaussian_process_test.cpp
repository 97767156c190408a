// A Gaussian process satisfies its equations, and its hyper-parameters are the likeliest.
#include "search/gaussian_process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

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

}  // namespace
}  // namespace tilecast::search

#include "base/solvers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

namespace tilecast::base {
namespace {

// r_i = (a + b t_i) - y_i.
LeastSquares line_through(const std::vector<double>& t, const std::vector<double>& y) {
  LeastSquares problem{.low = {-100, -100}, .high = {100, 100}, .residuals = t.size()};
  problem.evaluate = [t, y](std::span<const double> x, std::span<double> r,
                            std::span<double> jacobian) {
    for (std::size_t i = 0; i < t.size(); ++i) {
      r[i] = x[0] + x[1] * t[i] - y[i];
      if (jacobian.empty()) continue;
      jacobian[2 * i] = 1;
      jacobian[2 * i + 1] = t[i];
    }
    return true;
  };
  return problem;
}

struct Sums {
  double n = 0, t = 0, tt = 0, y = 0, ty = 0;
  Sums(const std::vector<double>& ts, const std::vector<double>& ys) {
    for (std::size_t i = 0; i < ts.size(); ++i) {
      n += 1;
      t += ts[i];
      tt += ts[i] * ts[i];
      y += ys[i];
      ty += ts[i] * ys[i];
    }
  }
  [[nodiscard]] double determinant() const { return n * tt - t * t; }
};

TEST(LeastSquares, OfALineIsTheNormalEquations) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 20; ++round) {
    std::vector<double> t, y;
    for (int i = 0; i < 12; ++i) {
      t.push_back(normal(random));
      y.push_back(3 - 2 * t.back() + 0.1 * normal(random));
    }
    const Sums s(t, y);
    const LeastSquaresSolution found = least_squares(line_through(t, y), {0, 0});
    EXPECT_NEAR(found.x[0], (s.y * s.tt - s.t * s.ty) / s.determinant(), 1e-6);
    EXPECT_NEAR(found.x[1], (s.n * s.ty - s.t * s.y) / s.determinant(), 1e-6);
    ASSERT_EQ(found.deviation.size(), 2u);
    EXPECT_NEAR(found.deviation[0], std::sqrt(s.tt / s.determinant()), 1e-6);
    EXPECT_NEAR(found.deviation[1], std::sqrt(s.n / s.determinant()), 1e-6);
    for (const double slope : found.gradient) EXPECT_NEAR(slope, 0, 1e-5);
  }
}

TEST(LeastSquares, StopsAtABoundWhereTheGradientPointsOut) {
  LeastSquares problem = line_through({-1, 0, 1}, {1, 1, 1});  // best: a = 1, b = 0
  problem.high[0] = 0.25;
  const LeastSquaresSolution found = least_squares(problem, {0, 0.5});
  EXPECT_NEAR(found.x[0], 0.25, 1e-9);
  EXPECT_NEAR(found.x[1], 0, 1e-4);  // steps are truncated at the bound
  EXPECT_NEAR(found.gradient[0], 3 * (0.25 - 1), 1e-6);
}

TEST(LeastSquares, StaysWhereNothingHasAValue) {
  LeastSquares problem = line_through({0, 1}, {0, 1});
  problem.evaluate = [](auto, auto, auto) { return false; };
  EXPECT_EQ(least_squares(problem, {0.5, 0.5}).x, (std::vector<double>{0.5, 0.5}));
}

TEST(SmoothMinimum, OfRosenbrocksValleyIsAtOne) {
  const SmoothFunction valley{
      .evaluate =
          [](std::span<const double> x, double& value, std::span<double> gradient) {
            const double across = x[1] - x[0] * x[0], along = 1 - x[0];
            value = 100 * across * across + along * along;
            if (!gradient.empty()) {
              gradient[0] = -400 * x[0] * across - 2 * along;
              gradient[1] = 200 * across;
            }
            return true;
          },
      .iterations = 500,
      .function_tolerance = 1e-14};
  for (const double start : {-1.2, 0.0, 3.0}) {
    const std::vector<double> found = smooth_minimum(valley, {start, 1});
    EXPECT_NEAR(found[0], 1, 1e-4);
    EXPECT_NEAR(found[1], 1, 1e-4);
  }
}

TEST(Solvers, GiveBackWhatAFunctionThrows) {
  LeastSquares problem = line_through({0, 1}, {0, 1});
  problem.evaluate = [](auto, auto, auto) -> bool { throw std::runtime_error("no kernels"); };
  EXPECT_THROW((void)least_squares(problem, {0, 0}), std::runtime_error);
  const SmoothFunction function{
      .evaluate = [](auto, auto&, auto) -> bool { throw std::out_of_range("row 9"); }};
  EXPECT_THROW((void)smooth_minimum(function, {0}), std::out_of_range);
}

}  // namespace
}  // namespace tilecast::base

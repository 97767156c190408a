// Bounded least squares and gradient-based minima, by Ceres (Levenberg-Marquardt, BFGS; Agarwal,
// Mierle et al., ceres-solver.org): a module loaded on first use, because Ceres and its algebra
// libraries would cost every process 9 ms at start.
//
//   LeastSquaresSolution s = least_squares(
//       {.low = {0}, .high = {9}, .residuals = 2, .evaluate = f}, {1});
//   std::vector<double> x = smooth_minimum({.evaluate = g}, {0, 0});
//
// Deterministic; thread-safe. An exception of a function ends the solver and is rethrown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/plugin.h"

namespace tilecast::base {

// Minimises sum_i r_i(x)^2 / 2 with low <= x <= high.
struct LeastSquares {
  std::vector<double> low, high;  // per element of x; low < high
  std::size_t residuals = 0;
  // Writes r(x) and, where `jacobian` is not empty, d r_i / d x_j, row by row. False: r has no
  // value at x.
  std::function<bool(std::span<const double> x, std::span<double> r, std::span<double> jacobian)>
      evaluate;
  int iterations = 50;                                           // at most
  double function_tolerance = 1e-6, parameter_tolerance = 1e-8;  // relative changes to stop at
};
struct LeastSquaresSolution {
  std::vector<double> x;
  // Standard deviations of x ignoring the bounds: square roots of the diagonal of (J'J)^-1, by SVD;
  // empty if not available.
  std::vector<double> deviation;
  std::vector<double> gradient;  // of the sum; empty: not available
};

// Minimises value(x); x is unbounded.
struct SmoothFunction {
  // Writes the value, and the gradient unless it is empty. False: no value at x.
  std::function<bool(std::span<const double> x, double& value, std::span<double> gradient)>
      evaluate;
  int iterations = 50;  // at most
  double function_tolerance = 1e-6;
};

// Returns `start` if nothing can be solved.
[[nodiscard]] LeastSquaresSolution least_squares(const LeastSquares& problem,
                                                 std::vector<double> start);
[[nodiscard]] std::vector<double> smooth_minimum(const SmoothFunction& function,
                                                 std::vector<double> start);

// The interface of the module, exported as C symbols:
//   std::uint64_t tilecast_ceres_module_abi();   // kCeresModuleAbi of its build
//   void* tilecast_ceres_module();               // Solvers
struct Solvers {
  decltype(&least_squares) squares;
  decltype(&smooth_minimum) minimum;
};
inline constexpr std::uint64_t kCeresModuleAbi =
    plugin_abi(1, {sizeof(LeastSquares), sizeof(LeastSquaresSolution), sizeof(SmoothFunction)});

}  // namespace tilecast::base

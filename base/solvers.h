// Least squares with bounds and minima along gradients, by Ceres (Levenberg-Marquardt, BFGS;
// Agarwal, Mierle et al., ceres-solver.org): a module that is loaded on first use, because Ceres
// and the algebra behind it cost every process 9 ms at start.
//
//   LeastSquaresSolution s = least_squares({.low = {0}, .high = {9}, .residuals = 2, .evaluate =
//   f},
//                                          {1});
//   std::vector<double> x = smooth_minimum({.evaluate = g}, {0, 0});
//
// Deterministic; thread-safe. Exceptions of a function end the solver and come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/plugin.h"

namespace tilecast::base {

// minimise sum_i r_i(x)^2 / 2 with low <= x <= high.
struct LeastSquares {
  std::vector<double> low, high;  // by x; low < high
  std::size_t residuals = 0;
  // Writes r(x) and, where `jacobian` is not empty, d r_i / d x_j, row by row. False: r has no
  // value at x.
  std::function<bool(std::span<const double> x, std::span<double> r, std::span<double> jacobian)>
      evaluate;
  int iterations = 50;                                           // at most
  double function_tolerance = 1e-6, parameter_tolerance = 1e-8;  // relative changes that end it
};
struct LeastSquaresSolution {
  std::vector<double> x;
  // As if no bound held: the root of the diagonal of (J'J)^-1, by singular values; empty: none.
  std::vector<double> deviation;
  std::vector<double> gradient;  // of the sum; empty: none
};

// minimise value(x); x is anything.
struct SmoothFunction {
  // Writes the gradient where it is not empty. False: no value at x.
  std::function<bool(std::span<const double> x, double& value, std::span<double> gradient)>
      evaluate;
  int iterations = 50;  // at most
  double function_tolerance = 1e-6;
};

// Where nothing can be solved: `start`.
[[nodiscard]] LeastSquaresSolution least_squares(const LeastSquares& problem,
                                                 std::vector<double> start);
[[nodiscard]] std::vector<double> smooth_minimum(const SmoothFunction& function,
                                                 std::vector<double> start);

// What the program and the module agree on, exported as C symbols:
//   std::uint64_t tilecast_ceres_module_abi();   // kCeresModuleAbi of its build
//   void* tilecast_ceres_module();               // Solvers
struct Solvers {
  decltype(&least_squares) squares;
  decltype(&smooth_minimum) minimum;
};
inline constexpr std::uint64_t kCeresModuleAbi =
    plugin_abi(1, {sizeof(LeastSquares), sizeof(LeastSquaresSolution), sizeof(SmoothFunction)});

}  // namespace tilecast::base

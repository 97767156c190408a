// The fit behind a calibration: robust least squares with priors and bounds (base/solvers.h).
//
//   minimise  sum_i w_i rho(e_i(x) / s_i) + sum_j (x_j / prior_j)^2
//
// e_i = log(predicted / measured) of row i; rho is Cauchy's loss (95 % efficient for normal
// errors), so that wrong rows lose their pull; s_i is the scatter of the row's op class about its
// own median (few rows: drawn to that of all rows), estimated after a fit and the fit repeated.
// What a class has in common is thus for the constants to explain, and classes the model describes
// well count more. Deterministic.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "hybrid/constants.h"

namespace tilecast::hybrid {

// Log errors of all rows at x.
using Errors = std::function<std::vector<double>(std::span<const double> x)>;

struct RowTraits {
  double weight = 1;
  std::string op_class;
};

struct Fit {
  std::vector<double> x;          // by constant
  std::vector<double> deviation;  // standard deviation of x given rows and priors
  // How far past its bound x would go without it; 0 where no bound stops it.
  std::vector<double> beyond_bound;
  double scatter = 0;  // of all rows: standard deviation of a good row's log error
};

// `rows`: which entries of `errors` are fitted; `traits` by entry of `errors`; `start`: x to begin
// at (empty: the priors' centre).
[[nodiscard]] Fit robust_fit(const Errors& errors, std::span<const Constant> constants,
                             std::span<const std::size_t> rows, std::span<const RowTraits> traits,
                             std::vector<double> start = {});

}  // namespace tilecast::hybrid

// The fit of a calibration: robust least squares with priors and bounds (base/solvers.h).
//
//   minimise  sum_i w_i rho(e_i(x) / s_i) + sum_j (x_j / prior_j)^2
//
// e_i = log(predicted / measured) of row i. rho is Cauchy's loss (95 % efficient for normal
// errors), which limits the influence of wrong rows. s_i is the scatter of the row's op class
// around its own median, shrunk to that of all rows if there are few. So the constants explain what
// a class has in common, and classes that the model describes well weigh more. The scatter depends
// on x, where other tiles may be best, so the fit is repeated until x is stable. Deterministic.
#pragma once

#include <span>
#include <vector>

#include "hybrid/calibration_rows.h"
#include "hybrid/constants.h"

namespace tilecast::hybrid {

struct Fit {
  std::vector<double> x;          // by constant
  std::vector<double> deviation;  // standard deviation of x given rows and priors
  // How far x would exceed its bound without it; 0 if x is not at a bound.
  std::vector<double> beyond_bound;
  std::vector<double> errors;  // of all rows at x
  double scatter = 0;          // standard deviation of log errors, outliers aside
};

// `fitted`: the rows to fit. `start`: initial x (empty: as described). Adds tiles to `rows`.
[[nodiscard]] Fit robust_fit(CalibrationRows& rows, std::span<const Constant> constants,
                             std::span<const std::size_t> fitted, std::vector<double> start = {});

}  // namespace tilecast::hybrid

// The fit behind a calibration: robust least squares with priors and bounds (base/solvers.h).
//
//   minimise  sum_i w_i rho(e_i(x) / s_i) + sum_j (x_j / prior_j)^2
//
// e_i = log(predicted / measured) of row i; rho is Cauchy's loss (95 % efficient for normal
// errors), so that wrong rows lose their pull; s_i is the scatter of the row's op class about its
// own median (few rows: drawn to that of all rows), so that what a class has in common is for the
// constants to explain, and classes the model describes well count more. The scatter is
// that at x, where other tiles may be the best, so it is fitted again until x stays. Deterministic.
#pragma once

#include <span>
#include <vector>

#include "hybrid/calibration_rows.h"
#include "hybrid/constants.h"

namespace tilecast::hybrid {

struct Fit {
  std::vector<double> x;          // by constant
  std::vector<double> deviation;  // standard deviation of x given rows and priors
  // How far past its bound x would go without it; 0 where no bound stops it.
  std::vector<double> beyond_bound;
  std::vector<double> errors;  // of all rows at x
  double scatter = 0;          // of the fitted: standard deviation of a good row's log error
};

// `fitted`: which rows; `start`: x to begin at (empty: as described). `rows` learns tiles.
[[nodiscard]] Fit robust_fit(CalibrationRows& rows, std::span<const Constant> constants,
                             std::span<const std::size_t> fitted, std::vector<double> start = {});

}  // namespace tilecast::hybrid

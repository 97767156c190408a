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

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "hybrid/constants.h"
#include "measured/samples.h"

namespace tilecast::hybrid {

// The rows of a calibration: selects rows from several sets measured on one device, and computes
// the log errors of a device's predictions of them. Internal to calibrate.cpp.

struct CalibrationRow {
  std::size_t set = 0, sample = 0;
  std::string kernel;  // fingerprint of the kernel's work
  std::string group;   // unit of cross-validation: the kernel; the row, of a single kernel
  std::string op_class;
  double measured_s = 0;
  // Rows of one kernel share the model's error, so each of n rows weighs 1 / sqrt(n). If some rows
  // state the tile that ran, rows without one get twice the deviation: they are compared with the
  // model's best tile, which the measured system may not have chosen.
  double weight = 1;
};

class CalibrationRows {
 public:
  // Keeps at most `most` rows of all sets: the same maximum number per kernel, spread evenly over
  // the kernel's rows. Times of whole programs and rows that the model cannot predict are dropped
  // and counted. Keeps references to `model` and `device`.
  CalibrationRows(std::span<const measured::SampleSet> sets, std::size_t most,
                  const analytical::CostModel& model, const hwdesc::Device& device, int jobs);

  [[nodiscard]] std::span<const measured::SampleSet> sets() const { return sets_; }  // chosen rows
  [[nodiscard]] const std::vector<CalibrationRow>& rows() const { return rows_; }
  [[nodiscard]] const hwdesc::Device& device() const { return device_; }
  [[nodiscard]] std::size_t programs() const { return programs_; }
  [[nodiscard]] std::size_t unanswered() const { return unanswered_; }
  [[nodiscard]] const measured::Sample& sample(const CalibrationRow& row) const;
  [[nodiscard]] const measured::Workload& work(const CalibrationRow& row) const;

  // Adds the tile that is best on `device` to the candidates of each kernel whose rows state none.
  // log_errors() uses the best of these candidates: searching all tiles in each step of a fit takes
  // too long, and a single tile may not be the best for other constants.
  void add_tiles(const hwdesc::Device& device);
  // log(predicted / measured) of every row. Predictions include the host's dispatch if the row
  // does.
  [[nodiscard]] std::vector<double> log_errors(const hwdesc::Device& device) const;

 private:
  class BestTiles;

  std::vector<measured::SampleSet> sets_;
  const analytical::CostModel& model_;
  const hwdesc::Device& device_;
  std::map<const ir::Kernel*, std::vector<analytical::TileConfig>> tiles_;
  std::deque<measured::PredictionPlan> plans_;
  std::vector<CalibrationRow> rows_;
  std::size_t programs_ = 0, unanswered_ = 0;
  int jobs_ = 1;
};

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

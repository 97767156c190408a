// Scores of a fit on held-out rows, and its remaining bias. Internal to calibrate.cpp.
//
// A group's error is the mean over its kernels, weighted by their rows; its noise is the standard
// error of that mean, shrunk towards the spread among all kernels if the group has few.
#pragma once

#include "hybrid/calibrate.h"
#include "hybrid/calibration_rows.h"

namespace tilecast::hybrid {

// log(predicted / measured) of a row with the described constants, and with those fitted to other
// kernels.
struct HeldOutRow {
  std::size_t row = 0;
  double before = 0, after = 0;
};

// Scores of all rows first, then by class and, if there are several sets, by set.
[[nodiscard]] std::vector<HeldOutScore> held_out_scores(const CalibrationRows& rows,
                                                        std::span<const HeldOutRow> held_out);

// The largest common bias beyond noise among classes and size ranges of classes: "matmul above 1 ms
// is still predicted 5.2 % too fast (12 kernels)". `fitted`: uses the errors after the fit, else
// before.
[[nodiscard]] std::string what_is_left(const CalibrationRows& rows,
                                       std::span<const HeldOutRow> held_out, bool fitted);

}  // namespace tilecast::hybrid

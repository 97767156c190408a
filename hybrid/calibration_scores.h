// How a fit does on rows it has not seen, and what it leaves. Internal to calibrate.cpp.
//
// A group's error is the mean over its kernels, each with the weight of its rows; its noise is the
// standard error of that mean, of few kernels drawn to the spread among all.
#pragma once

#include "hybrid/calibrate.h"
#include "hybrid/calibration_rows.h"

namespace tilecast::hybrid {

// log(predicted / measured) of a row by constants as described and as fitted to other kernels.
struct HeldOutRow {
  std::size_t row = 0;
  double before = 0, after = 0;
};

// Of all rows first, of every class, and where there are several of every set.
[[nodiscard]] std::vector<HeldOutScore> held_out_scores(const CalibrationRows& rows,
                                                        std::span<const HeldOutRow> held_out);

// "matmul above 1 ms is still predicted 5.2 % too fast (12 kernels)": of classes, whole or up to or
// from a size, the one whose kernels have most in common, beyond noise. `fitted`: after, else
// before.
[[nodiscard]] std::string what_is_left(const CalibrationRows& rows,
                                       std::span<const HeldOutRow> held_out, bool fitted);

}  // namespace tilecast::hybrid

// `tilecast calibrate --then-train`: after the constants, a hybrid fitted to the same rows.
#pragma once

#include <span>
#include <string>

#include "hybrid/calibrate.h"
#include "hybrid/hybrid_fit.h"

namespace tilecast::sim::cli {

struct ThenTrain {
  std::string directory;
  bool force = false;
  int jobs = 1;
};

// Throws Error where the folder is there and `force` is not set: asked before the work.
void check_folder(const ThenTrain& options);

// Rows that the calibration found to be outliers are left out. Writes the folder, and says so on
// stderr. `sets` are all rows; the device is the calibrated one.
[[nodiscard]] hybrid::FittedHybrid then_train(const ThenTrain& options,
                                              std::span<const measured::SampleSet> sets,
                                              const hybrid::Calibrated& calibrated);

}  // namespace tilecast::sim::cli

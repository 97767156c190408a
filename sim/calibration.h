// `tilecast calibrate` without its command line: fits the constants of a device to measurement
// sets, and a hybrid model to the remaining errors.
//
//   hybrid::PreparedFit fit = calibrate_device({.sets = {"sets/matmul"}, .device = device});
//   std::string yaml = calibrated_description(fit, "tpu_v3", "mine.yaml");  // "": refused
//   hybrid::FittedHybrid model = train_calibrated(fit, "models/mine", {});
//
// All functions throw Error, and UsageError where the command reports wrong usage.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hybrid/calibrate.h"
#include "hybrid/hybrid_fit.h"
#include "hybrid/prepared_fit.h"
#include "measured/measurement_set.h"

namespace tilecast::sim {

struct CalibrationRequest {
  std::vector<std::string> sets;              // folders
  hwdesc::Device device;                      // as described in its file
  std::vector<std::string> classes, kernels;  // only these rows; both empty: all rows
  std::vector<std::string> fixed;             // constants that are not fitted
  bool other_machine = false;                 // accept rows measured on another machine
  bool accept_suspicious = false;
  std::size_t most_rows = hybrid::kMostRows;
  int jobs = 1;
};
struct CalibrationHooks {
  std::function<measured::MeasurementSet(const std::string&)> read = measured::read_measurement_set;
  std::function<void(const std::string&)> note = [](const std::string&) {};  // row counts etc.
  std::function<void()> step = [] {};  // after each fit, at most hybrid::kMostFits times
};
// Throws Error if too few rows are left to fit.
[[nodiscard]] hybrid::PreparedFit calibrate_device(const CalibrationRequest& request,
                                                   const CalibrationHooks& hooks = {});

// The description (YAML) to write to `file`: it extends `parent`, a preset's name or a path.
// `name`: the device's name; "": derived from `file`. Returns "" if the described constants stay.
[[nodiscard]] std::string calibrated_description(const hybrid::PreparedFit& fit,
                                                 const std::string& parent, const std::string& file,
                                                 const std::string& name = "");

struct CalibratedTraining {
  bool force = false;  // replace an existing model
  int jobs = 1;
  std::function<void(const std::string&, double)> step = [](const std::string&, double) {};
};
// Throws Error if `folder` exists and may not be replaced.
void check_model_folder(const std::string& folder, bool force);
// Fits a hybrid to all rows and writes it into `folder`.
[[nodiscard]] hybrid::FittedHybrid train_calibrated(const hybrid::PreparedFit& fit,
                                                    const std::string& folder,
                                                    const CalibratedTraining& options = {});

}  // namespace tilecast::sim

// `tilecast calibrate` without its command line: measurement sets -> constants of a device, and a
// hybrid of what they leave.
//
//   hybrid::PreparedFit fit = calibrate_device({.sets = {"sets/matmul"}, .device = device});
//   std::string yaml = calibrated_description(fit, "tpu_v3", "mine.yaml");  // "": refused
//   hybrid::FittedHybrid model = train_calibrated(fit, "models/mine", {});
//
// All throw Error; UsageError for what the command refuses as such.
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
  hwdesc::Device device;                      // as described
  std::vector<std::string> classes, kernels;  // rows of these alone; both empty: all rows
  std::vector<std::string> fixed;             // constants that stay as described
  bool other_machine = false;                 // take rows that were measured on another one
  bool accept_suspicious = false;
  std::size_t most_rows = hybrid::kMostRows;
  int jobs = 1;
};
struct CalibrationHooks {
  std::function<measured::MeasurementSet(const std::string&)> read = measured::read_measurement_set;
  std::function<void(const std::string&)> note = [](const std::string&) {};  // how many rows, ...
  std::function<void()> step = [] {};  // after each fit, at most hybrid::kMostFits times
};
// Throws Error where too few rows are left to fit.
[[nodiscard]] hybrid::PreparedFit calibrate_device(const CalibrationRequest& request,
                                                   const CalibrationHooks& hooks = {});

// The description (YAML) to be written to `file`: it extends `parent`, a preset's name or a path.
// `name`: of the device; "": from the file. "" where the described constants stay.
[[nodiscard]] std::string calibrated_description(const hybrid::PreparedFit& fit,
                                                 const std::string& parent, const std::string& file,
                                                 const std::string& name = "");

struct CalibratedTraining {
  bool force = false;  // replace a model that is there
  int jobs = 1;
  std::function<void(const std::string&, double)> step = [](const std::string&, double) {};
};
// Throws Error where `folder` exists and is not to be replaced.
void check_model_folder(const std::string& folder, bool force);
// Fits a hybrid to all rows and writes it into `folder`.
[[nodiscard]] hybrid::FittedHybrid train_calibrated(const hybrid::PreparedFit& fit,
                                                    const std::string& folder,
                                                    const CalibratedTraining& options = {});

}  // namespace tilecast::sim

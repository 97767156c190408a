// Fits a device's few physical constants to measurements, and refuses a fit that makes it worse.
//
//   Calibrated c = calibrate(sets, device);
//   if (c.accepted) write(calibrated_yaml(c, ...));
//
// Works from kLeastRows rows up, because every constant is held by a prior at its described value
// (hybrid/constants.h). On-chip time and the host's dispatch are fitted as different constants, and
// a dispatch only to rows that hold one. Rows that no constants can explain (x10, a unit slip) are
// found after a first robust fit, listed, and left out of the last one. Constants that the rows say
// nothing about stay as described. The judge is a
// cross-validation by kernel: median and p90 of APE of kernels left out, before and after; when
// either gets worse, fewer constants are tried, and at last the described values are kept.
// Throws Error when there are too few rows. Deterministic, whatever `jobs`.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "hybrid/constants.h"
#include "measured/samples.h"

namespace tilecast::hybrid {

inline constexpr std::size_t kLeastRows = 3;

struct CalibrateOptions {
  std::set<std::string> fixed;  // constants that stay as described, hybrid/constants.h
  int jobs = 1;
  std::function<void()> step = [] {};  // after each fit, at most kMostFits times
};
inline constexpr std::size_t kMostFits = 37;

// Where a fitted value comes from: the rows narrowed its prior to less than kIdentified, to less
// than kSilent, or not at all. In the last case it stays as described.
enum class Knowledge { kRows, kBoth, kDescription };
inline constexpr double kIdentified = 0.7;
inline constexpr double kSilent = 0.8;

struct FittedConstant {
  std::string name;
  bool is_time = false;  // seconds, else a multiplier
  double described = 1, fitted = 1;
  double low = 1, high = 1;              // 95 % interval of `fitted`, given rows and prior
  double prior_low = 1, prior_high = 1;  // the same before any row
  Knowledge knowledge = Knowledge::kDescription;
};

// Errors of left-out kernels, as fractions; n rows of one kernel weigh like sqrt(n), as in the fit.
struct LeftOut {
  std::string op_class;  // "" = all rows
  std::size_t rows = 0;
  double median_before = 0, median_after = 0, p90_before = 0, p90_after = 0;

  [[nodiscard]] bool worse() const {
    return median_after > median_before || p90_after > p90_before;
  }
};

struct Attempt {
  std::vector<std::string> constants;
  LeftOut all;
};

struct Calibrated {
  hwdesc::Device device;  // as described when not accepted
  bool accepted = false;
  std::vector<FittedConstant> constants;  // of the accepted attempt, else of the first
  std::vector<LeftOut> left_out;          // all rows first, then by class
  std::vector<Attempt> refused;           // in the order tried
  std::vector<measured::RowFault> outliers;
  std::vector<std::string> outlier_sets;  // by outlier: the set it is in
  std::size_t rows = 0, kernels = 0, unanswered = 0, folds = 0;
  double scatter = 0;  // of a good row's log error after the fit
};

[[nodiscard]] Calibrated calibrate(std::span<const measured::SampleSet> sets,
                                   const hwdesc::Device& device, const analytical::CostModel& model,
                                   const CalibrateOptions& options = {});

// A description that extends `parent` (a preset's name or a path) and holds the fitted constants
// with their provenance.
[[nodiscard]] std::string calibrated_yaml(const Calibrated& calibrated, const std::string& parent,
                                          const std::string& name, const std::string& provenance);

}  // namespace tilecast::hybrid

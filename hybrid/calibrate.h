// Fits a device's few physical constants to measurements, and refuses a fit that makes it worse.
//
//   Calibrated c = calibrate(sets, device, model);
//   if (c.accepted) write(calibrated_yaml(c, ...));
//
// The rows that are fitted, wherever a fit is asked for: at most CalibrateOptions::most_rows,
// shared out evenly over kernels and within each spread evenly over its rows. A few constants need
// no more, rows of one kernel share the model's error for it, and nothing is drawn at random.
//
// Every constant is held by a prior at its described value (hybrid/constants.h). On-chip time and
// the host's dispatch are different constants; a dispatch is fitted only to rows that hold one.
// Rows that no constants explain (x10, a unit slip) are found after a first robust fit, listed and
// not used for the last one. A cross-validation by kernel decides: where held-out kernels get no
// better by more than noise, or those of any class or any set worse, fewer constants are tried,
// and at last the described values stay. Times of whole programs are not fitted.
// Constants at their bounds or far from their priors say that the description is wrong: such a fit
// is refused unless the caller takes it. Deterministic, whatever `jobs`.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "hybrid/constants.h"
#include "measured/samples.h"

namespace tilecast::hybrid {

inline constexpr std::size_t kLeastRows = 3, kMostRows = 200;

struct CalibrateOptions {
  std::set<std::string> fixed = {};  // constants that stay as described, hybrid/constants.h
  std::size_t most_rows = kMostRows;
  bool accept_suspicious = false;
  int jobs = 1;
  std::function<void()> step = [] {};  // after each fit, at most kMostFits times
};
inline constexpr std::size_t kMostFits = 37;

// Where a fitted value comes from: the rows narrowed its prior to less than kIdentified, to less
// than kUnidentified, or not at all. In the last case it stays as described.
enum class Knowledge { kRows, kBoth, kDescription };
inline constexpr double kIdentified = 0.7;
inline constexpr double kUnidentified = 0.8;

struct FittedConstant {
  std::string name;
  bool is_time = false;  // seconds, else a multiplier
  double described = 1, fitted = 1;
  double low = 1, high = 1;              // 95 % interval of `fitted`, given rows and prior
  double prior_low = 1, prior_high = 1;  // the same before any row
  Knowledge knowledge = Knowledge::kDescription;
  // How far from its description the rows pull it, in standard deviations of its prior, and whether
  // a bound stopped it there.
  double deviations = 0;
  bool at_bound = false;

  [[nodiscard]] bool suspicious() const;
};
// "memory_write: x 0.240, described x 1.000: 4.8 standard deviations of its prior".
[[nodiscard]] std::string suspicion(const FittedConstant& constant);

// Mean |log(predicted / measured)| of held-out kernels, before and after a fit.
struct HeldOutScore {
  std::string group;  // "all", "class matmul", "set NAME"
  std::size_t rows = 0, kernels = 0;
  double before = 0, after = 0;
  double noise = 0;  // standard error of the change

  [[nodiscard]] bool worse() const { return after - before > noise; }
  [[nodiscard]] bool better() const { return before - after > noise; }
};

// "class matmul better: mean |log error| 10.2 -> 3.4 %, noise 0.9 %".
[[nodiscard]] std::string changed(const HeldOutScore& score);

struct RefusedFit {
  std::vector<std::string> constants;
  HeldOutScore worst;  // the group it harms most; all rows, where it does not help them
};

struct Calibrated {
  hwdesc::Device device;  // as described when not accepted
  bool accepted = false;
  bool refused_as_suspicious = false;  // it would help held-out kernels, but is not to be believed
  std::vector<FittedConstant> constants;  // of the fit that helps, else of the first
  std::vector<HeldOutScore> held_out;     // all rows first, then by class and by set
  std::vector<RefusedFit> refused;        // in the order tried
  std::vector<measured::RowFault> outliers;
  std::vector<std::string> outlier_sets;  // by outlier: the set it is in
  std::vector<std::size_t> rows_of_sets;  // chosen for the fit, by set
  std::size_t rows = 0, kernels = 0, programs = 0, unanswered = 0, folds = 0;
  double scatter = 0;  // of a good row's log error after the fit
  // "matmul above 1 ms is still predicted 5.2 % too fast (12 kernels)", or that nothing is.
  std::string left;

  [[nodiscard]] std::vector<FittedConstant> suspicious() const;
};

// Throws TooFewRows (learned/training/examples.h) for fewer than kLeastRows that the model answers
// and that agree.
[[nodiscard]] Calibrated calibrate(std::span<const measured::SampleSet> sets,
                                   const hwdesc::Device& device, const analytical::CostModel& model,
                                   const CalibrateOptions& options = {});

// Why the described constants stay, in words; "" where the fit was accepted.
[[nodiscard]] std::string refusal(const Calibrated& calibrated);

// A description that extends `parent` (a preset's name or a path) and holds the fitted constants
// with their provenance.
[[nodiscard]] std::string calibrated_yaml(const Calibrated& calibrated, const std::string& parent,
                                          const std::string& name, const std::string& provenance);
// What was fitted to which rows, and how it did; `sets`: those that calibrate() was given.
[[nodiscard]] std::string provenance_of(const Calibrated& calibrated,
                                        std::span<const measured::SampleSet> sets);

}  // namespace tilecast::hybrid

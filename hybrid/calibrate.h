// Fits a device's few physical constants to measurements, and rejects a fit that does not help.
//
//   Calibrated c = calibrate(sets, device, model);
//   if (c.accepted) write(calibrated_yaml(c, ...));
//
// At most CalibrateOptions::most_rows rows are fitted, divided evenly among kernels and, within a
// kernel, spread evenly over its rows. A few constants need no more, and rows of one kernel share
// the model's error. Nothing is random.
//
// Every constant has a prior centred at its described value (hybrid/constants.h). On-chip time and
// the host's dispatch have separate constants; a dispatch is fitted only to rows that include one.
// Outliers that no constants explain (x10, a wrong unit) are detected after a first robust fit,
// listed, and left out of the final one. Cross-validation by kernel decides: if held-out kernels do
// not improve by more than noise, or any class or set gets worse, fewer constants are tried; if
// none help, the described values stay. Times of whole programs are not fitted. Constants at their
// bounds or far from their priors indicate a wrong description; such a fit is refused unless
// CalibrateOptions::accept_suspicious is set. Deterministic, whatever `jobs`.
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
  std::set<std::string> fixed = {};  // names of constants to keep as described (hybrid/constants.h)
  std::size_t most_rows = kMostRows;
  bool accept_suspicious = false;
  int jobs = 1;
  std::function<void()> step = [] {};  // called after each fit, at most kMostFits times
};
inline constexpr std::size_t kMostFits = 37;

// Source of a fitted value, by the ratio of its posterior to its prior standard deviation: below
// kIdentified the rows, above kUnidentified the description (the value then stays as described),
// between them both.
enum class Knowledge { kRows, kBoth, kDescription };
inline constexpr double kIdentified = 0.7;
inline constexpr double kUnidentified = 0.8;

struct FittedConstant {
  std::string name;
  bool is_time = false;  // seconds, else a multiplier
  double described = 1, fitted = 1;
  double low = 1, high = 1;              // 95 % interval of `fitted`, given rows and prior
  double prior_low = 1, prior_high = 1;  // the same from the prior alone
  Knowledge knowledge = Knowledge::kDescription;
  // Distance of the fitted from the described value in standard deviations of the prior, and
  // whether it stopped at a bound.
  double deviations = 0;
  bool at_bound = false;

  [[nodiscard]] bool suspicious() const;
};
// "memory_write: x 0.240, described x 1.000: 4.8 standard deviations of its prior".
[[nodiscard]] std::string suspicion(const FittedConstant& constant);

// Mean |log(predicted / measured)| of held-out kernels, before and after a fit.
struct HeldOutScore {
  std::string group;  // "all", "class matmul" or "set NAME"
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
  HeldOutScore worst;  // the group it harms most, or all rows if these do not improve
};

struct Calibrated {
  hwdesc::Device device;  // as described if not accepted
  bool accepted = false;
  bool refused_as_suspicious = false;     // helps held-out kernels, but has suspicious constants
  std::vector<FittedConstant> constants;  // of the fit that helps, else of the first one
  std::vector<HeldOutScore> held_out;     // all rows first, then by class and set
  std::vector<RefusedFit> refused;        // in the order tried
  std::vector<measured::RowFault> outliers;
  std::vector<std::string> outlier_sets;  // the set of each outlier
  std::vector<std::size_t> rows_of_sets;  // rows chosen for the fit, by set
  std::size_t rows = 0, kernels = 0, programs = 0, unanswered = 0, folds = 0;
  double scatter = 0;  // scatter of log errors after the fit, outliers aside
  // Remaining bias: "matmul above 1 ms is still predicted 5.2 % too fast (12 kernels)", or none.
  std::string left;

  [[nodiscard]] std::vector<FittedConstant> suspicious() const;
};

// Throws TooFewRows (learned/training/examples.h) for fewer than kLeastRows rows that the model can
// predict and that are not outliers.
[[nodiscard]] Calibrated calibrate(std::span<const measured::SampleSet> sets,
                                   const hwdesc::Device& device, const analytical::CostModel& model,
                                   const CalibrateOptions& options = {});

// Why the fit was refused; "" if it was accepted.
[[nodiscard]] std::string refusal(const Calibrated& calibrated);

// A description as YAML that extends `parent` (a preset's name or a path) with the fitted constants
// and their provenance.
[[nodiscard]] std::string calibrated_yaml(const Calibrated& calibrated, const std::string& parent,
                                          const std::string& name, const std::string& provenance);
// Text on what was fitted, to which rows, and its score. `sets`: the argument of calibrate().
[[nodiscard]] std::string provenance_of(const Calibrated& calibrated,
                                        std::span<const measured::SampleSet> sets);

}  // namespace tilecast::hybrid

#include "hybrid/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/statistics.h"
#include "hybrid/calibration_rows.h"
#include "hybrid/robust_fit.h"
#include "learned/training/examples.h"
#include "measured/metrics.h"
#include "measured/splits.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::Device;

constexpr std::size_t kMostCalibrationFolds = 10;
constexpr std::uint64_t kFoldSeed = 1;
constexpr double kNormal95 = 1.96;
// A row this far from its class (in logarithms), or this many scatters, is not what it says it is.
constexpr double kOutlierLog = 1.0986;  // a factor 3
constexpr double kOutlierScatters = 5;
// Of an honest prior a constant is farther away than this, in standard deviations, once in
// 16,000 times. A bound stops those that the rows would take further.
constexpr double kFarFromPrior = 4, kFarBeyondBound = 2;

struct Problem {
  const CalibrationRows& rows;
  const analytical::CostModel& model;
  const Device& device;
  std::vector<RowTraits> traits;
  std::function<void()> step;

  [[nodiscard]] std::vector<double> errors(std::span<const Constant> constants,
                                           std::span<const double> x) const {
    return rows.log_errors(model, device_at(device, constants, x));
  }
  [[nodiscard]] Fit fit(std::span<const Constant> constants, std::span<const std::size_t> fitted,
                        std::vector<double> start) const {
    const Errors at = [&](std::span<const double> x) { return errors(constants, x); };
    Fit found = robust_fit(at, constants, fitted, traits, std::move(start));
    step();
    return found;
  }
};

struct RowSplit {
  std::vector<std::size_t> inliers, outliers;
};

RowSplit split_outliers(const CalibrationRows& rows, const std::vector<double>& errors,
                        double scatter) {
  std::map<std::string, std::vector<double>> by_class;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    by_class[rows.rows()[i].op_class].push_back(errors[i]);
  }
  RowSplit split;
  const double limit = std::max(kOutlierLog, kOutlierScatters * scatter);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const std::vector<double>& others = by_class.at(rows.rows()[i].op_class);
    const double centre = others.size() > kLeastRows ? base::median(others) : 0;
    (std::abs(errors[i] - centre) > limit ? split.outliers : split.inliers).push_back(i);
  }
  return split;
}

// By kernel where there are several, else by row; at most kMostCalibrationFolds.
std::vector<measured::Split> held_out_folds(const CalibrationRows& rows,
                                            std::span<const std::size_t> inliers) {
  std::vector<std::string> keys;
  for (const std::size_t i : inliers) keys.push_back(rows.rows()[i].kernel);
  if (std::set<std::string>(keys.begin(), keys.end()).size() < 2) {
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = fmt::format("{:08}", i);
  }
  const std::size_t groups = std::set<std::string>(keys.begin(), keys.end()).size();
  return groups > kMostCalibrationFolds ? measured::k_fold(keys, kMostCalibrationFolds, kFoldSeed)
                                        : measured::leave_one_out(keys);
}

struct Scored {
  std::vector<std::size_t> rows;
  std::vector<double> before, after;  // APE
  std::vector<double> weights;
};

// The smallest value that at least `q` of the weight does not exceed.
double weighted_quantile(const std::vector<double>& values, const std::vector<double>& weights,
                         double q) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double below = 0;
  for (const std::size_t i : order) {
    below += weights[i];
    if (below >= q * total * (1 - 1e-12)) return values[i];
  }
  return values[order.back()];
}

HeldOutScore summary(const std::string& op_class, const Scored& scored) {
  const auto quantile = [&](const std::vector<double>& values, double q) {
    return weighted_quantile(values, scored.weights, q);
  };
  return {.op_class = op_class,
          .rows = scored.rows.size(),
          .median_before = quantile(scored.before, 0.5),
          .median_after = quantile(scored.after, 0.5),
          .p90_before = quantile(scored.before, 0.9),
          .p90_after = quantile(scored.after, 0.9)};
}

std::vector<HeldOutScore> summaries(const CalibrationRows& rows, const Scored& scored) {
  std::map<std::string, Scored> by_class;
  for (std::size_t i = 0; i < scored.rows.size(); ++i) {
    Scored& of_class = by_class[rows.rows()[scored.rows[i]].op_class];
    of_class.rows.push_back(scored.rows[i]);
    of_class.before.push_back(scored.before[i]);
    of_class.after.push_back(scored.after[i]);
    of_class.weights.push_back(scored.weights[i]);
  }
  std::vector<HeldOutScore> result = {summary("", scored)};
  for (const auto& [op_class, of_class] : by_class) result.push_back(summary(op_class, of_class));
  return result;
}

Scored cross_validate(const Problem& problem, std::span<const Constant> constants,
                      std::span<const std::size_t> inliers) {
  const std::vector<double> described(constants.size(), 0);
  const std::vector<double> before = problem.errors(constants, described);
  Scored scored;
  for (const measured::Split& split : held_out_folds(problem.rows, inliers)) {
    std::vector<std::size_t> fitted;
    for (const std::size_t i : split.fit) fitted.push_back(inliers[i]);
    const Fit fit = problem.fit(constants, fitted, {});
    const std::vector<double> after = problem.errors(constants, fit.x);
    for (const std::size_t i : split.score) {
      scored.rows.push_back(inliers[i]);
      scored.weights.push_back(problem.traits[inliers[i]].weight);
      scored.before.push_back(std::abs(std::expm1(before[inliers[i]])));
      scored.after.push_back(std::abs(std::expm1(after[inliers[i]])));
    }
  }
  return scored;
}

FittedConstant describe(const Constant& c, double x, double deviation, double beyond_bound) {
  const double spread = std::min(deviation, c.prior);
  const auto at = [&](double v) { return c.value(std::clamp(v, c.low, c.high)); };
  return {.name = c.name,
          .is_time = c.is_time,
          .described = c.described,
          .fitted = c.value(x),
          .low = at(x - kNormal95 * spread),
          .high = at(x + kNormal95 * spread),
          .prior_low = at(-kNormal95 * c.prior),
          .prior_high = at(kNormal95 * c.prior),
          .knowledge = deviation < kIdentified * c.prior     ? Knowledge::kRows
                       : deviation > kUnidentified * c.prior ? Knowledge::kDescription
                                                             : Knowledge::kBoth,
          .deviations = (std::abs(x) + beyond_bound) / c.prior,
          .at_bound = beyond_bound > 0};
}

// What is fitted, and then less and less of it, until a fit helps the kernels it has not seen.
std::vector<std::vector<Constant>> constant_subsets(const std::vector<Constant>& all) {
  const auto only = [&](auto&& keep) {
    std::vector<Constant> kept;
    std::ranges::copy_if(all, std::back_inserter(kept), keep);
    return kept;
  };
  const auto is_dispatch = [](const Constant& c) { return c.name.starts_with("dispatch."); };
  const auto is_rate = [&](const Constant& c) {
    return is_dispatch(c) || c.name == "memory_bandwidth" || c.name == "memory_write" ||
           c.name == "cache_bandwidth" || c.name == "matrix";
  };
  std::vector<std::vector<Constant>> result;
  for (const std::vector<Constant>& subset : {all, only(is_rate), only(is_dispatch)}) {
    if (!subset.empty() && (result.empty() || subset.size() < result.back().size())) {
      result.push_back(subset);
    }
  }
  return result;
}

// Fits `constants`, and once more without those the rows say nothing about, which stay as
// described.
struct Selected {
  std::vector<Constant> constants, unidentified;
  Fit fit;
};

Selected fit_selected(const Problem& problem, std::span<const Constant> constants,
                      std::span<const std::size_t> rows) {
  Selected selected{.fit = problem.fit(constants, rows, {})};
  std::vector<double> start;
  for (std::size_t j = 0; j < constants.size(); ++j) {
    const bool unidentified = selected.fit.deviation[j] > kUnidentified * constants[j].prior;
    (unidentified ? selected.unidentified : selected.constants).push_back(constants[j]);
    if (!unidentified) start.push_back(selected.fit.x[j]);
  }
  if (!selected.unidentified.empty()) {
    selected.fit = problem.fit(selected.constants, rows, std::move(start));
  }
  return selected;
}

std::vector<FittedConstant> describe(const Selected& selected) {
  std::vector<FittedConstant> result;
  const Fit& fit = selected.fit;
  for (std::size_t j = 0; j < selected.constants.size(); ++j) {
    result.push_back(
        describe(selected.constants[j], fit.x[j], fit.deviation[j], fit.beyond_bound[j]));
  }
  for (const Constant& c : selected.unidentified) result.push_back(describe(c, 0, c.prior, 0));
  return result;
}

std::vector<std::string> names(std::span<const Constant> constants) {
  std::vector<std::string> result;
  for (const Constant& constant : constants) result.push_back(constant.name);
  return result;
}

void list_outliers(const CalibrationRows& rows, std::span<const measured::SampleSet> sets,
                   const RowSplit& split, const std::vector<double>& errors,
                   Calibrated& calibrated) {
  for (const std::size_t i : split.outliers) {
    const CalibrationRow& row = rows.rows()[i];
    const double ratio = std::exp(-errors[i]);
    calibrated.outliers.push_back(
        {.line = rows.sample(row).line,
         .kind = measured::RowFault::Kind::kOutlier,
         .message = fmt::format("{}: measured {:.3g} us is {:.3g} times what any constants give; "
                                "not used for the fit",
                                rows.work(row).name, row.measured_s * 1e6, ratio)});
    calibrated.outlier_sets.push_back(sets[row.set].name);
  }
}

// Fewer and fewer constants, until a fit helps kernels it has not seen.
void fit_constants(const Problem& problem, const std::vector<Constant>& all,
                   std::span<const std::size_t> inliers, bool accept_suspicious,
                   Calibrated& result) {
  for (const std::vector<Constant>& constants : constant_subsets(all)) {
    const Selected selected = fit_selected(problem, constants, inliers);
    if (selected.constants.empty()) return;
    const std::vector<HeldOutScore> held_out =
        summaries(problem.rows, cross_validate(problem, selected.constants, inliers));
    const bool better = !held_out.front().worse();
    if (better || result.constants.empty()) {
      result.constants = describe(selected);
      result.held_out = held_out;
      result.scatter = selected.fit.scatter;
    }
    if (better) {
      result.accepted = accept_suspicious || result.suspicious().empty();
      result.refused_as_suspicious = !result.accepted;
      if (!result.accepted) return;
      result.device = device_at(problem.device, selected.constants, selected.fit.x);
      return;
    }
    result.refused.push_back({names(selected.constants), held_out.front()});
  }
}

}  // namespace

bool FittedConstant::suspicious() const {
  return deviations > (at_bound ? kFarBeyondBound : kFarFromPrior);
}

std::vector<FittedConstant> Calibrated::suspicious() const {
  std::vector<FittedConstant> result;
  std::ranges::copy_if(constants, std::back_inserter(result), &FittedConstant::suspicious);
  return result;
}

Calibrated calibrate(std::span<const measured::SampleSet> all_rows, const Device& device,
                     const analytical::CostModel& model, const CalibrateOptions& options) {
  const std::vector<measured::SampleSet> sets = choose_rows(all_rows, options.most_rows);
  const FixedTiles fixed(model, sets, device);
  const CalibrationRows rows(sets, fixed, device, options.jobs);
  if (rows.rows().size() < kLeastRows) {
    throw learned::TooFewRows(
        fmt::format("calibrate: got {} usable rows for device {}, expected at least {}",
                    rows.rows().size(), device.name, kLeastRows));
  }
  Problem problem{rows, fixed, device, {}, options.step};
  std::vector<std::size_t> everything;
  for (std::size_t i = 0; i < rows.rows().size(); ++i) {
    everything.push_back(i);
    problem.traits.push_back({rows.rows()[i].weight, rows.rows()[i].op_class});
  }
  Calibrated result{.device = device, .unanswered = rows.unanswered()};
  for (const measured::SampleSet& set : sets) result.rows_of_sets.push_back(set.samples.size());
  const std::vector<Constant> all = constants_of(device, sets, options.fixed);
  const Fit first = problem.fit(all, everything, {});
  const std::vector<double> errors = problem.errors(all, first.x);
  const RowSplit split = split_outliers(rows, errors, first.scatter);
  list_outliers(rows, sets, split, errors, result);
  if (split.inliers.size() < kLeastRows) {
    throw learned::TooFewRows(
        fmt::format("calibrate: {} of {} rows contradict each other; expected at least {} "
                    "that agree",
                    split.outliers.size(), everything.size(), kLeastRows));
  }
  result.rows = split.inliers.size();
  std::set<std::string> kernels;
  for (const std::size_t i : split.inliers) kernels.insert(rows.rows()[i].kernel);
  result.kernels = kernels.size();
  result.folds = held_out_folds(rows, split.inliers).size();
  fit_constants(problem, all, split.inliers, options.accept_suspicious, result);
  return result;
}

}  // namespace tilecast::hybrid

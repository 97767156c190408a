#include "hybrid/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/statistics.h"
#include "hybrid/calibration_rows.h"
#include "hybrid/fixed_tiles.h"
#include "hybrid/robust_fit.h"
#include "measured/metrics.h"
#include "measured/splits.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::Device;

constexpr std::size_t kMostFolds = 10;
constexpr std::uint64_t kFoldSeed = 1;
constexpr double kNormal95 = 1.96;
// A row this far from its class (in logarithms), or this many scatters, is not what it says it is.
constexpr double kOutlierLog = 1.0986;  // a factor 3
constexpr double kOutlierScatters = 5;

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

// Indices of the rows that stay, and the others.
struct Sorted {
  std::vector<std::size_t> good, wild;
};

Sorted sort_out(const CalibrationRows& rows, const std::vector<double>& errors, double scatter) {
  std::map<std::string, std::vector<double>> by_class;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    by_class[rows.rows()[i].op_class].push_back(errors[i]);
  }
  Sorted sorted;
  const double limit = std::max(kOutlierLog, kOutlierScatters * scatter);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const std::vector<double>& others = by_class.at(rows.rows()[i].op_class);
    const double centre = others.size() > kLeastRows ? base::median(others) : 0;
    (std::abs(errors[i] - centre) > limit ? sorted.wild : sorted.good).push_back(i);
  }
  return sorted;
}

// By kernel where there are several, else by row; at most kMostFolds.
std::vector<measured::Split> folds_of(const CalibrationRows& rows,
                                      std::span<const std::size_t> good) {
  std::vector<std::string> keys;
  for (const std::size_t i : good) keys.push_back(rows.rows()[i].kernel);
  if (std::set<std::string>(keys.begin(), keys.end()).size() < 2) {
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = fmt::format("{:08}", i);
  }
  const std::size_t groups = std::set<std::string>(keys.begin(), keys.end()).size();
  return groups > kMostFolds ? measured::k_fold(keys, kMostFolds, kFoldSeed)
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

LeftOut summary(const std::string& op_class, const Scored& scored) {
  return {.op_class = op_class,
          .rows = scored.rows.size(),
          .median_before = weighted_quantile(scored.before, scored.weights, 0.5),
          .median_after = weighted_quantile(scored.after, scored.weights, 0.5),
          .p90_before = weighted_quantile(scored.before, scored.weights, 0.9),
          .p90_after = weighted_quantile(scored.after, scored.weights, 0.9)};
}

std::vector<LeftOut> summaries(const CalibrationRows& rows, const Scored& scored) {
  std::map<std::string, Scored> by_class;
  for (std::size_t i = 0; i < scored.rows.size(); ++i) {
    Scored& of_class = by_class[rows.rows()[scored.rows[i]].op_class];
    of_class.rows.push_back(scored.rows[i]);
    of_class.before.push_back(scored.before[i]);
    of_class.after.push_back(scored.after[i]);
    of_class.weights.push_back(scored.weights[i]);
  }
  std::vector<LeftOut> result = {summary("", scored)};
  for (const auto& [op_class, of_class] : by_class) result.push_back(summary(op_class, of_class));
  return result;
}

Scored cross_validate(const Problem& problem, std::span<const Constant> constants,
                      std::span<const std::size_t> good) {
  const std::vector<double> described(constants.size(), 0);
  const std::vector<double> before = problem.errors(constants, described);
  Scored scored;
  for (const measured::Split& split : folds_of(problem.rows, good)) {
    std::vector<std::size_t> fitted;
    for (const std::size_t i : split.fit) fitted.push_back(good[i]);
    const Fit fit = problem.fit(constants, fitted, {});
    const std::vector<double> after = problem.errors(constants, fit.x);
    for (const std::size_t i : split.score) {
      scored.rows.push_back(good[i]);
      scored.weights.push_back(problem.traits[good[i]].weight);
      scored.before.push_back(std::abs(std::expm1(before[good[i]])));
      scored.after.push_back(std::abs(std::expm1(after[good[i]])));
    }
  }
  return scored;
}

FittedConstant shown(const Constant& c, double x, double deviation) {
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
          .knowledge = deviation < kIdentified * c.prior ? Knowledge::kRows
                       : deviation > kSilent * c.prior   ? Knowledge::kDescription
                                                         : Knowledge::kBoth};
}

// What is fitted, and then less and less of it, until a fit helps the kernels it has not seen.
std::vector<std::vector<Constant>> attempts(const std::vector<Constant>& all) {
  const auto only = [&](auto&& keep) {
    std::vector<Constant> some;
    std::ranges::copy_if(all, std::back_inserter(some), keep);
    return some;
  };
  const auto is_dispatch = [](const Constant& c) { return c.name.starts_with("dispatch."); };
  const auto is_rate = [&](const Constant& c) {
    return is_dispatch(c) || c.name == "memory_bandwidth" || c.name == "memory_write" ||
           c.name == "cache_bandwidth" || c.name == "matrix";
  };
  std::vector<std::vector<Constant>> result;
  for (const std::vector<Constant>& some : {all, only(is_rate), only(is_dispatch)}) {
    if (!some.empty() && (result.empty() || some.size() < result.back().size())) {
      result.push_back(some);
    }
  }
  return result;
}

// Fits `constants`, and once more without those the rows say nothing about, which stay as
// described.
struct Selected {
  std::vector<Constant> constants, silent;
  Fit fit;
};

Selected fit_selected(const Problem& problem, std::span<const Constant> constants,
                      std::span<const std::size_t> rows) {
  Selected selected{.fit = problem.fit(constants, rows, {})};
  std::vector<double> start;
  for (std::size_t j = 0; j < constants.size(); ++j) {
    const bool silent = selected.fit.deviation[j] > kSilent * constants[j].prior;
    (silent ? selected.silent : selected.constants).push_back(constants[j]);
    if (!silent) start.push_back(selected.fit.x[j]);
  }
  if (!selected.silent.empty()) {
    selected.fit = problem.fit(selected.constants, rows, std::move(start));
  }
  return selected;
}

std::vector<FittedConstant> shown(const Selected& selected) {
  std::vector<FittedConstant> result;
  for (std::size_t j = 0; j < selected.constants.size(); ++j) {
    result.push_back(shown(selected.constants[j], selected.fit.x[j], selected.fit.deviation[j]));
  }
  for (const Constant& c : selected.silent) result.push_back(shown(c, 0, c.prior));
  return result;
}

std::vector<std::string> names(std::span<const Constant> constants) {
  std::vector<std::string> result;
  for (const Constant& constant : constants) result.push_back(constant.name);
  return result;
}

void list_outliers(const CalibrationRows& rows, std::span<const measured::SampleSet> sets,
                   const Sorted& sorted, const std::vector<double>& errors,
                   Calibrated& calibrated) {
  for (const std::size_t i : sorted.wild) {
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

}  // namespace

Calibrated calibrate(std::span<const measured::SampleSet> sets, const Device& device,
                     const analytical::CostModel& model, const CalibrateOptions& options) {
  const FixedTiles fixed(model, sets, device);
  const CalibrationRows rows(sets, fixed, device, options.jobs);
  if (rows.rows().size() < kLeastRows) {
    throw Error(fmt::format("calibrate: got {} usable rows for device {}, expected at least {}",
                            rows.rows().size(), device.name, kLeastRows));
  }
  Problem problem{rows, fixed, device, {}, options.step};
  std::vector<std::size_t> everything;
  for (std::size_t i = 0; i < rows.rows().size(); ++i) {
    everything.push_back(i);
    problem.traits.push_back({rows.rows()[i].weight, rows.rows()[i].op_class});
  }
  Calibrated result{.device = device, .unanswered = rows.unanswered()};
  const std::vector<Constant> all = constants_of(device, sets, options.fixed);
  const Fit first = problem.fit(all, everything, {});
  const std::vector<double> errors = problem.errors(all, first.x);
  const Sorted sorted = sort_out(rows, errors, first.scatter);
  list_outliers(rows, sets, sorted, errors, result);
  if (sorted.good.size() < kLeastRows) {
    throw Error(
        fmt::format("calibrate: {} of {} rows contradict each other; expected at least {} "
                    "that agree",
                    sorted.wild.size(), everything.size(), kLeastRows));
  }
  result.rows = sorted.good.size();
  std::set<std::string> kernels;
  for (const std::size_t i : sorted.good) kernels.insert(rows.rows()[i].kernel);
  result.kernels = kernels.size();
  result.folds = folds_of(rows, sorted.good).size();
  for (const std::vector<Constant>& constants : attempts(all)) {
    const Selected selected = fit_selected(problem, constants, sorted.good);
    if (selected.constants.empty()) break;
    const Scored scored = cross_validate(problem, selected.constants, sorted.good);
    const std::vector<LeftOut> left_out = summaries(rows, scored);
    const bool better = !left_out.front().worse();
    if (better || result.constants.empty()) {
      result.constants = shown(selected);
      result.left_out = left_out;
      result.scatter = selected.fit.scatter;
    }
    if (better) {
      result.device = device_at(device, selected.constants, selected.fit.x);
      result.accepted = true;
      break;
    }
    result.refused.push_back({names(selected.constants), left_out.front()});
  }
  return result;
}

}  // namespace tilecast::hybrid

#include "hybrid/calibrate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/statistics.h"
#include "hwdesc/yaml_text.h"
#include "hybrid/robust_fit.h"
#include "learned/training/examples.h"
#include "measured/splits.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::Device;

// --- scores of a fit on held-out rows, and its remaining bias
//
// A group's error is the mean over its kernels, weighted by their rows; its noise is the standard
// error of that mean, shrunk towards the spread among all kernels if the group has few.

// log(predicted / measured) of a row with the described constants, and with those fitted to other
// kernels.
struct HeldOutRow {
  std::size_t row = 0;
  double before = 0, after = 0;
};

constexpr double kPooledKernels = 3;  // prior weight, in kernels, of the spread among all kernels
constexpr double kLeastNoise = 0.02;  // minimum for a kernel, as no time is known better

// A remaining bias is reported for groups of at least kLeastKernels with a bias above kLeastBias
// and kBeyondNoise standard errors. With some dozens of groups, this happens by chance once in 20
// runs.
constexpr std::size_t kLeastKernels = 4;
constexpr double kLeastBias = 0.02, kBeyondNoise = 3;

struct KernelMean {
  double mean = 0, variance = 0;  // over kernels
  double kernels = 0;             // effective number of kernels
  std::size_t rows = 0, groups = 0;

  // Standard error of the mean.
  [[nodiscard]] double noise(double variance_of_all) const {
    const double n = static_cast<double>(groups);
    const double pooled = (n * variance + kPooledKernels * variance_of_all) / (n + kPooledKernels);
    return std::sqrt(pooled / kernels);
  }
};

struct Value {
  const CalibrationRow* row;
  double value;
};

KernelMean kernel_mean(std::span<const Value> values) {
  struct Sum {
    double weight = 0, value = 0;
  };
  std::map<std::string, Sum> groups;
  Sum all;
  for (const Value& v : values) {
    for (Sum* sum : {&groups[v.row->group], &all}) {
      sum->weight += v.row->weight;
      sum->value += v.row->weight * v.value;
    }
  }
  KernelMean result{.mean = all.value / all.weight, .rows = values.size(), .groups = groups.size()};
  double squares = 0;
  for (const auto& [group, sum] : groups) {
    squares += sum.weight * sum.weight;
    result.variance += sum.weight / all.weight * std::pow(sum.value / sum.weight - result.mean, 2);
  }
  const double n = static_cast<double>(groups.size());
  if (n > 1) result.variance *= n / (n - 1);
  result.kernels = all.weight * all.weight / squares;
  return result;
}

HeldOutScore score(const std::string& group, std::span<const Value> before,
                   std::span<const Value> change, double variance_of_all) {
  const KernelMean moved = kernel_mean(change);
  const double error = kernel_mean(before).mean;
  return {.group = group,
          .rows = moved.rows,
          .kernels = moved.groups,
          .before = error,
          .after = error + moved.mean,
          .noise = std::max(moved.noise(variance_of_all), kLeastNoise / std::sqrt(moved.kernels))};
}

// A class, whole or limited to a range of times.
struct Part {
  std::string op_class, text;
  double from_s = 0, to_s = std::numeric_limits<double>::infinity();
};

std::vector<Part> parts_of(const std::string& op_class) {
  constexpr std::array<std::pair<double, std::string_view>, 3> kSizes{
      {{10e-6, "10 us"}, {100e-6, "100 us"}, {1e-3, "1 ms"}}};
  std::vector<Part> parts = {{op_class, op_class}};
  for (const auto& [time, text] : kSizes) {
    parts.push_back(
        {.op_class = op_class, .text = fmt::format("{} below {}", op_class, text), .to_s = time});
    parts.push_back(
        {.op_class = op_class, .text = fmt::format("{} above {}", op_class, text), .from_s = time});
  }
  return parts;
}

// Scores of all rows first, then by class and, if there are several sets, by set.
std::vector<HeldOutScore> held_out_scores(const CalibrationRows& rows,
                                          std::span<const HeldOutRow> held_out) {
  struct Group {
    std::vector<Value> before, change;
  };
  Group all;
  std::map<std::string, Group> groups;
  const bool several = rows.sets().size() > 1;
  for (const HeldOutRow& held : held_out) {
    const CalibrationRow& row = rows.rows()[held.row];
    const double before = std::abs(held.before), change = std::abs(held.after) - before;
    std::vector<Group*> of = {&all, &groups["class " + row.op_class]};
    if (several) of.push_back(&groups["set " + rows.sets()[row.set].name]);
    for (Group* group : of) {
      group->before.push_back({&row, before});
      group->change.push_back({&row, change});
    }
  }
  const double variance = kernel_mean(all.change).variance;
  std::vector<HeldOutScore> scores = {score("all", all.before, all.change, variance)};
  for (const auto& [name, group] : groups) {
    scores.push_back(score(name, group.before, group.change, variance));
  }
  return scores;
}

// The largest common bias beyond noise among classes and size ranges of classes: "matmul above 1 ms
// is still predicted 5.2 % too fast (12 kernels)". `fitted`: uses the errors after the fit, else
// before.
std::string what_is_left(const CalibrationRows& rows, std::span<const HeldOutRow> held_out,
                         bool fitted) {
  std::map<std::string, std::vector<Value>> classes;
  for (const HeldOutRow& held : held_out) {
    const CalibrationRow& row = rows.rows()[held.row];
    classes[row.op_class].push_back({&row, fitted ? held.after : held.before});
  }
  std::string text = "no class or size is still off beyond noise";
  double most = 0;
  for (const auto& [op_class, values] : classes) {
    for (const Part& part : parts_of(op_class)) {
      std::vector<Value> own;
      std::ranges::copy_if(values, std::back_inserter(own), [&](const Value& v) {
        return v.row->measured_s >= part.from_s && v.row->measured_s < part.to_s;
      });
      if (own.empty()) continue;
      const KernelMean off = kernel_mean(own);
      const double explained = off.kernels * off.mean * off.mean;
      if (off.groups < kLeastKernels || std::abs(off.mean) < kLeastBias || explained <= most ||
          std::abs(off.mean) < kBeyondNoise * off.noise(off.variance)) {
        continue;
      }
      most = explained;
      text = fmt::format("{} is still predicted {:.1f} % too {} ({} kernels)", part.text,
                         100 * std::abs(std::expm1(off.mean)), off.mean < 0 ? "fast" : "slow",
                         off.groups);
    }
  }
  return text;
}

// --- the fit

constexpr std::size_t kMostCalibrationFolds = 10;
constexpr std::uint64_t kFoldSeed = 1;
constexpr double kNormal95 = 1.96;
// Outliers: rows this far from their class (in log units), or by this many scatters.
constexpr double kOutlierLog = 1.0986;  // a factor 3
constexpr double kOutlierScatters = 5;
// In standard deviations of the prior. With a correct prior, a normal constant is beyond
// kFarFromPrior once in 16,000 times. kFarBeyondBound is how far the rows would pull it past a
// bound.
constexpr double kFarFromPrior = 4, kFarBeyondBound = 2;

struct Problem {
  CalibrationRows& rows;
  std::function<void()> step;

  [[nodiscard]] Fit fit(std::span<const Constant> constants, std::span<const std::size_t> fitted,
                        std::vector<double> start = {}) const {
    Fit found = robust_fit(rows, constants, fitted, std::move(start));
    step();
    return found;
  }
};

struct RowSplit {
  std::vector<std::size_t> inliers, outliers;
};

RowSplit split_outliers(const CalibrationRows& rows, const Fit& fit) {
  const std::vector<double>& errors = fit.errors;
  std::map<std::string, std::vector<double>> by_class;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    by_class[rows.rows()[i].op_class].push_back(errors[i]);
  }
  RowSplit split;
  const double limit = std::max(kOutlierLog, kOutlierScatters * fit.scatter);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const std::vector<double>& others = by_class.at(rows.rows()[i].op_class);
    const double centre = others.size() > kLeastRows ? base::median(others) : 0;
    (std::abs(errors[i] - centre) > limit ? split.outliers : split.inliers).push_back(i);
  }
  return split;
}

// Folds by group, at most kMostCalibrationFolds.
std::vector<measured::Split> held_out_folds(const CalibrationRows& rows,
                                            std::span<const std::size_t> inliers) {
  std::vector<std::string> keys;
  for (const std::size_t i : inliers) keys.push_back(rows.rows()[i].group);
  return std::set<std::string>(keys.begin(), keys.end()).size() > kMostCalibrationFolds
             ? measured::k_fold(keys, kMostCalibrationFolds, kFoldSeed)
             : measured::leave_one_out(keys);
}

// Each fold's fit starts at the solution for all rows.
std::vector<HeldOutRow> cross_validate(const Problem& problem, std::span<const Constant> constants,
                                       const Fit& of_all, std::span<const std::size_t> inliers,
                                       const std::vector<double>& described) {
  std::vector<HeldOutRow> held_out;
  for (const measured::Split& split : held_out_folds(problem.rows, inliers)) {
    std::vector<std::size_t> fitted;
    for (const std::size_t i : split.fit) fitted.push_back(inliers[i]);
    const Fit fit = problem.fit(constants, fitted, of_all.x);
    for (const std::size_t i : split.score) {
      held_out.push_back({inliers[i], described[inliers[i]], fit.errors[inliers[i]]});
    }
  }
  return held_out;
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

// Successively smaller sets of constants to try, until a fit helps held-out kernels.
std::vector<std::vector<Constant>> constant_subsets(const std::vector<Constant>& all) {
  const auto only = [&](auto&& keep) {
    std::vector<Constant> kept;
    std::ranges::copy_if(all, std::back_inserter(kept), keep);
    return kept;
  };
  const auto is_dispatch = [](const Constant& c) { return c.name.starts_with("dispatch."); };
  const auto is_rate = [&](const Constant& c) { return is_dispatch(c) || c.is_share; };
  std::vector<std::vector<Constant>> result;
  for (const std::vector<Constant>& subset : {all, only(is_rate), only(is_dispatch)}) {
    if (!subset.empty() && (result.empty() || subset.size() < result.back().size())) {
      result.push_back(subset);
    }
  }
  return result;
}

// Fits `constants`, then again without those that the rows do not determine; these stay as
// described.
struct Selected {
  std::vector<Constant> constants, unidentified;
  Fit fit;
};

Selected fit_selected(const Problem& problem, std::span<const Constant> constants,
                      std::span<const std::size_t> rows, std::vector<double> start) {
  Selected selected{.fit = problem.fit(constants, rows, std::move(start))};
  start.clear();
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

std::string programs_note(std::size_t programs) {
  return programs == 0 ? ""
                       : fmt::format(
                             "; {} rows are times of whole programs, which constants of "
                             "kernels are not fitted to",
                             programs);
}

std::vector<std::string> names(std::span<const Constant> constants) {
  std::vector<std::string> result;
  for (const Constant& constant : constants) result.push_back(constant.name);
  return result;
}

void list_outliers(const CalibrationRows& rows, const RowSplit& split,
                   const std::vector<double>& errors, Calibrated& calibrated) {
  for (const std::size_t i : split.outliers) {
    const CalibrationRow& row = rows.rows()[i];
    const double ratio = std::exp(-errors[i]);
    calibrated.outliers.push_back(
        {.line = rows.sample(row).line,
         .kind = measured::RowFault::Kind::kOutlier,
         .message = fmt::format("{}: measured {:.3g} us is {:.3g} times what any constants give; "
                                "not used for the fit",
                                rows.work(row).name, row.measured_s * 1e6, ratio)});
    calibrated.outlier_sets.push_back(rows.sets()[row.set].name);
  }
}

// The group that a fit harms most beyond noise; else all rows, if they do not improve; else
// nullptr.
const HeldOutScore* harmed(const std::vector<HeldOutScore>& scores) {
  const auto beyond = [](const HeldOutScore& score) {
    return (score.after - score.before) / score.noise;
  };
  const HeldOutScore& worst = *std::ranges::max_element(scores, {}, beyond);
  if (worst.worse()) return &worst;
  return scores.front().better() ? nullptr : &scores.front();
}

// Tries fewer and fewer constants until a fit helps held-out kernels and harms no group of them.
void fit_constants(const Problem& problem, const std::vector<Constant>& all, const Fit& first,
                   std::span<const std::size_t> inliers, const std::vector<double>& described,
                   bool accept_suspicious, Calibrated& result) {
  for (const std::vector<Constant>& constants : constant_subsets(all)) {
    const Selected selected =
        fit_selected(problem, constants, inliers,
                     constants.size() == all.size() ? first.x : std::vector<double>{});
    if (selected.constants.empty()) return;
    const std::vector<HeldOutRow> held_out =
        cross_validate(problem, selected.constants, selected.fit, inliers, described);
    std::vector<HeldOutScore> scores = held_out_scores(problem.rows, held_out);
    const HeldOutScore* worst = harmed(scores);
    if (worst != nullptr) result.refused.push_back({names(selected.constants), *worst});
    if (worst != nullptr && !result.constants.empty()) continue;
    result.constants = describe(selected);
    result.scatter = selected.fit.scatter;
    result.held_out = std::move(scores);
    if (worst != nullptr) continue;
    result.accepted = accept_suspicious || result.suspicious().empty();
    result.refused_as_suspicious = !result.accepted;
    if (!result.accepted) return;
    result.device = device_at(problem.rows.device(), selected.constants, selected.fit.x);
    result.left = what_is_left(problem.rows, held_out, true);
    return;
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

Calibrated calibrate(std::span<const measured::SampleSet> sets, const Device& device,
                     const analytical::CostModel& model, const CalibrateOptions& options) {
  CalibrationRows rows(sets, options.most_rows, model, device, options.jobs);
  if (rows.rows().size() < kLeastRows) {
    throw learned::TooFewRows(
        fmt::format("calibrate: got {} usable rows for device {}, expected at least {}{}",
                    rows.rows().size(), device.name, kLeastRows, programs_note(rows.programs())));
  }
  const Problem problem{rows, options.step};
  std::vector<std::size_t> everything(rows.rows().size());
  std::iota(everything.begin(), everything.end(), std::size_t{0});
  Calibrated result{.device = device, .programs = rows.programs(), .unanswered = rows.unanswered()};
  for (const measured::SampleSet& set : rows.sets()) {
    result.rows_of_sets.push_back(set.samples.size());
  }
  const std::vector<double> described = rows.log_errors(device);
  const std::vector<Constant> all = constants_of(device, rows.sets(), options.fixed);
  const Fit first = problem.fit(all, everything);
  const RowSplit split = split_outliers(rows, first);
  list_outliers(rows, split, first.errors, result);
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
  std::vector<HeldOutRow> as_described;
  for (const std::size_t i : split.inliers) as_described.push_back({i, described[i], described[i]});
  result.left = what_is_left(rows, as_described, false);
  fit_constants(problem, all, first, split.inliers, described, options.accept_suspicious, result);
  return result;
}

// Text about fitted constants: the YAML of a calibrated device, its provenance, and what is
// suspicious.

namespace {

std::string yaml_quoted(std::string_view text) {
  return hwdesc::yaml_text(text, "calibrated device");
}

std::string yaml_value(const FittedConstant& constant) {
  return constant.is_time ? hwdesc::format_quantity(constant.fitted, hwdesc::UnitKind::kTime)
                          : fmt::format("{:.6g}", constant.fitted);
}

std::string short_value(const FittedConstant& constant, double value) {
  return constant.is_time ? fmt::format("{:.4g} us", value * 1e6) : fmt::format("{:.4g}", value);
}

constexpr std::string_view kDispatchPrefix = "dispatch.";

}  // namespace

std::string suspicion(const FittedConstant& constant) {
  return fmt::format(
      "{}: {}, described {}: {}{:.1f} standard deviations of its prior away", constant.name,
      short_value(constant, constant.fitted), short_value(constant, constant.described),
      constant.at_bound ? "at its bound, and the rows pull it " : "", constant.deviations);
}

std::string changed(const HeldOutScore& score) {
  return fmt::format("{} {}: mean |log error| {:.1f} -> {:.1f} %, noise {:.1f} %", score.group,
                     score.worse()    ? "worse"
                     : score.better() ? "better"
                                      : "no better beyond noise",
                     100 * score.before, 100 * score.after, 100 * score.noise);
}

std::string refusal(const Calibrated& calibrated) {
  if (calibrated.accepted) return {};
  if (calibrated.refused_as_suspicious) {
    std::vector<std::string> reasons;
    for (const FittedConstant& constant : calibrated.suspicious()) {
      reasons.push_back(suspicion(constant));
    }
    return fmt::format("suspicious: {}", fmt::join(reasons, "; "));
  }
  if (calibrated.refused.empty()) return "the rows identify no constant";
  return "held-out rows: " + changed(calibrated.refused.front().worst);
}

std::string provenance_of(const Calibrated& calibrated, std::span<const measured::SampleSet> sets) {
  std::vector<std::string> used;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (calibrated.rows_of_sets[i] == 0) continue;
    used.push_back(fmt::format("{} ({} rows, data {})", sets[i].name, calibrated.rows_of_sets[i],
                               sets[i].hash.substr(0, 12)));
  }
  return fmt::format(
      "tilecast calibrate on {}; {} kernels, {} rows not used as outliers; held-out kernels: {}; "
      "left: "
      "{}",
      fmt::join(used, ", "), calibrated.kernels, calibrated.outliers.size(),
      changed(calibrated.held_out.front()), calibrated.left);
}

std::string calibrated_yaml(const Calibrated& calibrated, const std::string& parent,
                            const std::string& name, const std::string& provenance) {
  std::string text =
      fmt::format("extends: {}\nname: {}\ndescription: {}\n\ncalibration:\n", yaml_quoted(parent),
                  yaml_quoted(name), yaml_quoted(calibrated.device.description + ", calibrated"));
  std::string dispatch;
  for (const FittedConstant& c : calibrated.constants) {
    if (c.knowledge == Knowledge::kDescription) continue;
    const bool is_dispatch = c.name.starts_with(kDispatchPrefix);
    (is_dispatch ? dispatch : text) +=
        fmt::format("{}{}: {}  # {} to {} with 95 %\n", is_dispatch ? "    " : "  ",
                    is_dispatch ? c.name.substr(kDispatchPrefix.size()) : c.name, yaml_value(c),
                    short_value(c, c.low), short_value(c, c.high));
  }
  if (!dispatch.empty()) text += "  dispatch:\n" + dispatch;
  return text + fmt::format("  source: {}\n", yaml_quoted(provenance));
}

}  // namespace tilecast::hybrid

#include "hybrid/robust_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/solvers.h"
#include "base/statistics.h"

namespace tilecast::hybrid {
namespace {

constexpr double kCauchy = 2.385;
constexpr double kStep = 1e-4;          // step of x for finite differences
constexpr double kLeastScatter = 0.02;  // no model is more accurate than 2 %
constexpr double kMostScatter = 0.5;
constexpr int kRounds = 5;         // maximum rounds of tiles, scatter and fit
constexpr double kLowered = 2;     // in standard deviations of the prior
constexpr double kSettled = 0.05;  // of its prior: rounds end when all x move less
constexpr double kPooledRows = 3;  // prior weight, in rows, of the scatter of all rows
constexpr int kIterations = 12;

double robust(double u) {
  const double loss = std::log1p((u / kCauchy) * (u / kCauchy));
  return std::copysign(kCauchy * std::sqrt(loss), u);
}

bool all_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
}

class Cost {
 public:
  // `scatter` is indexed by row.
  Cost(const CalibrationRows& rows, std::span<const Constant> constants,
       std::span<const std::size_t> fitted, const std::vector<double>& scatter)
      : rows_(rows), constants_(constants), fitted_(fitted), scatter_(scatter) {}

  [[nodiscard]] base::LeastSquares problem() const {
    base::LeastSquares problem{.residuals = fitted_.size() + constants_.size(),
                               .iterations = kIterations,
                               .function_tolerance = 1e-4,
                               .parameter_tolerance = 1e-4};
    for (const Constant& constant : constants_) {
      problem.low.push_back(constant.low);
      problem.high.push_back(std::max(constant.high, 1e-9));
    }
    problem.evaluate = [this](std::span<const double> x, std::span<double> residuals,
                              std::span<double> jacobian) {
      return evaluate({x.begin(), x.end()}, residuals, jacobian);
    };
    return problem;
  }

  [[nodiscard]] double total(std::span<const double> x) const {
    double sum = 0;
    for (const double residual : residuals_at(x)) sum += residual * residual;
    return sum;
  }

 private:
  bool evaluate(std::vector<double> x, std::span<double> residuals,
                std::span<double> jacobian) const {
    const std::vector<double> base = residuals_at(x);
    std::ranges::copy(base, residuals.begin());
    for (std::size_t j = 0; j < x.size() && !jacobian.empty(); ++j) {
      const double at = x[j];
      const double step = at + kStep > constants_[j].high ? -kStep : kStep;
      x[j] = at + step;
      const std::vector<double> moved = residuals_at(x);
      x[j] = at;
      for (std::size_t i = 0; i < base.size(); ++i) {
        jacobian[i * x.size() + j] = (moved[i] - base[i]) / step;
      }
    }
    return all_finite(base);
  }

  std::vector<double> residuals_at(std::span<const double> x) const {
    const std::vector<double> errors = rows_.log_errors(device_at(rows_.device(), constants_, x));
    std::vector<double> residuals;
    residuals.reserve(fitted_.size() + x.size());
    for (const std::size_t i : fitted_) {
      const double weight = rows_.rows()[i].weight;
      residuals.push_back(std::sqrt(weight) * robust(errors[i] / scatter_[i]));
    }
    for (std::size_t j = 0; j < x.size(); ++j) {
      residuals.push_back(x[j] / constants_[j].prior);
    }
    return residuals;
  }

  const CalibrationRows& rows_;
  std::span<const Constant> constants_;
  std::span<const std::size_t> fitted_;
  const std::vector<double>& scatter_;
};

// How far the unconstrained minimum is beyond each active bound: the Newton step of that x with the
// others adapting.
std::vector<double> beyond_bounds(const base::LeastSquaresSolution& solution,
                                  std::span<const Constant> constants) {
  constexpr double kTouches = 1e-6;
  const auto& [x, deviation, gradient] = solution;
  std::vector<double> beyond(x.size(), 0);
  for (std::size_t j = 0; j < gradient.size() && j < deviation.size(); ++j) {
    const bool low = x[j] - constants[j].low < kTouches && gradient[j] > 0;
    const bool high = constants[j].high - x[j] < kTouches && gradient[j] < 0;
    if (low || high) beyond[j] = std::abs(gradient[j]) * deviation[j] * deviation[j];
  }
  return beyond;
}

// Median of |error - median error|, scaled to the standard deviation of a normal distribution. The
// median is subtracted because a class's common error is for the constants to explain.
double scatter_of(const std::vector<double>& errors) {
  constexpr double kNormal = 1.4826;
  const double centre = base::median(errors);
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error - centre));
  return std::clamp(kNormal * base::median(sizes), kLeastScatter, kMostScatter);
}

struct Scatter {
  double all = 0;
  std::vector<double> of_row;  // 0: not fitted
};

Scatter estimate_scatter(const CalibrationRows& rows, const std::vector<double>& errors,
                         std::span<const std::size_t> fitted) {
  std::vector<double> all;
  std::map<std::string, std::vector<double>> by_class;
  for (const std::size_t i : fitted) {
    all.push_back(errors[i]);
    by_class[rows.rows()[i].op_class].push_back(errors[i]);
  }
  Scatter scatter{scatter_of(all), std::vector<double>(errors.size(), 0)};
  std::map<std::string, double> of_class;
  for (const auto& [op_class, own] : by_class) {
    const double n = static_cast<double>(own.size());
    of_class[op_class] = (n * scatter_of(own) + kPooledRows * scatter.all) / (n + kPooledRows);
  }
  for (const std::size_t i : fitted) scatter.of_row[i] = of_class.at(rows.rows()[i].op_class);
  return scatter;
}

Fit fit_from(CalibrationRows& rows, std::span<const Constant> constants,
             std::span<const std::size_t> fitted, std::vector<double> start) {
  Fit fit{.x = std::move(start), .beyond_bound = std::vector<double>(constants.size(), 0)};
  for (const Constant& constant : constants) fit.deviation.push_back(constant.prior);
  const auto errors_at = [&](std::span<const double> x) {
    const hwdesc::Device device = device_at(rows.device(), constants, x);
    rows.add_tiles(device);
    return rows.log_errors(device);
  };
  fit.errors = errors_at(fit.x);
  double moved = constants.empty() ? 0 : 1;
  for (int round = 0; round < kRounds && moved > kSettled; ++round) {
    const Scatter scatter = estimate_scatter(rows, fit.errors, fitted);
    const Cost cost(rows, constants, fitted, scatter.of_row);
    const auto solution = base::least_squares(cost.problem(), fit.x);
    moved = 0;
    for (std::size_t j = 0; j < fit.x.size(); ++j) {
      moved = std::max(moved, std::abs(solution.x[j] - fit.x[j]) / constants[j].prior);
    }
    fit.x = solution.x;
    if (!solution.deviation.empty()) fit.deviation = solution.deviation;
    fit.beyond_bound = beyond_bounds(solution, constants);
    fit.errors = errors_at(fit.x);
  }
  fit.scatter = estimate_scatter(rows, fit.errors, fitted).all;
  return fit;
}

}  // namespace

// Different shares of peaks may explain the same rows, since a kernel bound by one resource
// contains no information on another that is almost a bound. So the fit is repeated with each share
// in turn lowered and the others as described, and the best fit is used.
Fit robust_fit(CalibrationRows& rows, std::span<const Constant> constants,
               std::span<const std::size_t> fitted, std::vector<double> start) {
  if (!start.empty()) return fit_from(rows, constants, fitted, std::move(start));
  Fit best = fit_from(rows, constants, fitted, std::vector<double>(constants.size(), 0));
  std::vector<double> described = best.x;
  for (std::size_t j = 0; j < constants.size(); ++j) {
    if (constants[j].is_share) described[j] = 0;
  }
  const auto errors_at = [&](std::span<const double> x) {
    return rows.log_errors(device_at(rows.device(), constants, x));
  };
  for (std::size_t j = 0; j < constants.size(); ++j) {
    if (!constants[j].is_share) continue;
    std::vector<double> lower = described;
    lower[j] = std::max(-kLowered * constants[j].prior, constants[j].low);
    if (errors_at(lower) == errors_at(described)) continue;
    Fit fit = fit_from(rows, constants, fitted, std::move(lower));
    const Fit& sharper = fit.scatter < best.scatter ? fit : best;
    const Scatter scatter = estimate_scatter(rows, sharper.errors, fitted);
    const Cost cost(rows, constants, fitted, scatter.of_row);
    if (cost.total(fit.x) < cost.total(best.x)) best = std::move(fit);
  }
  return best;
}

namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::TileConfig;
using measured::SampleSet;

constexpr double kUnknownTile = 0.25;  // weight factor for twice the standard deviation

void keep_rows(std::vector<SampleSet>& sets, std::size_t most) {
  std::map<std::string, std::size_t> rows;  // by kernel
  std::size_t each = 0;                     // rows that a kernel keeps at most
  for (const SampleSet& set : sets) {
    for (const measured::Sample& sample : set.samples) {
      each = std::max(each, ++rows[set.works[sample.work].fingerprint]);
    }
  }
  const auto kept = [&] {
    std::size_t sum = 0;
    for (const auto& [kernel, count] : rows) sum += std::min(count, each);
    return sum;
  };
  while (each > 1 && kept() > most) --each;
  // Whether entry i of `count` is among `share` entries spread evenly.
  const auto is_chosen = [](std::size_t i, std::size_t share, std::size_t count) {
    return share >= count || (i + 1) * share / count != i * share / count;
  };
  std::map<std::string, std::size_t> seen;
  std::size_t kernels = 0;
  for (SampleSet& set : sets) {
    std::erase_if(set.samples, [&](const measured::Sample& sample) {
      const std::string& kernel = set.works[sample.work].fingerprint;
      const std::size_t row = seen[kernel]++;
      // With more kernels than rows, some kernels keep none.
      const bool keeps_kernel =
          rows.size() <= most || (row == 0 && is_chosen(kernels++, most, rows.size()));
      return !keeps_kernel || !is_chosen(row, each, rows.at(kernel));
    });
  }
}

}  // namespace

class CalibrationRows::BestTiles final : public analytical::CostModel {
 public:
  explicit BestTiles(const CalibrationRows& rows) : rows_(rows) {}

  [[nodiscard]] std::vector<std::optional<Estimate>> estimate(
      std::span<const KernelQuery> queries, const hwdesc::Device& device) const override {
    std::vector<KernelQuery> asked;
    std::vector<std::size_t> asked_for;  // indices into `queries`
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const auto known = rows_.tiles_.find(&queries[i].kernel);
      if (queries[i].tile != nullptr || known == rows_.tiles_.end()) {
        asked.push_back(queries[i]);
        asked_for.push_back(i);
        continue;
      }
      for (const TileConfig& tile : known->second) {
        asked.push_back({queries[i].kernel, &tile, queries[i].parameters});
        asked_for.push_back(i);
      }
    }
    std::vector<std::optional<Estimate>> answers = rows_.model_.estimate(asked, device);
    std::vector<std::optional<Estimate>> best(queries.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      std::optional<Estimate>& least = best[asked_for[i]];
      if (answers[i] && (!least || answers[i]->time < least->time)) least = std::move(answers[i]);
    }
    return best;
  }

 private:
  const CalibrationRows& rows_;
};

CalibrationRows::CalibrationRows(std::span<const SampleSet> sets, std::size_t most,
                                 const analytical::CostModel& model, const hwdesc::Device& device,
                                 int jobs)
    : sets_(sets.begin(), sets.end()), model_(model), device_(device), jobs_(jobs) {
  for (SampleSet& set : sets_) {
    programs_ += std::erase_if(set.samples, [&](const measured::Sample& sample) {
      return set.works[sample.work].is_program;
    });
  }
  keep_rows(sets_, most);
  for (const SampleSet& set : sets_) plans_.emplace_back(set);
  std::map<std::string, double> rows_of_kernel;
  bool any_tile = false;
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    const SampleSet& set = sets_[s];
    const auto answers = plans_[s].predict(model, device, jobs);
    for (std::size_t i = 0; i < set.samples.size(); ++i) {
      if (!answers[i].answered || !(answers[i].comparable().value > 0)) {
        ++unanswered_;
        continue;
      }
      const measured::Workload& work = set.works[set.samples[i].work];
      rows_.push_back({.set = s,
                       .sample = i,
                       .kernel = work.fingerprint,
                       .op_class = work.op_class,
                       .measured_s = set.samples[i].measured.value});
      rows_of_kernel[work.fingerprint] += 1;
      any_tile = any_tile || !(set.samples[i].tile == TileConfig{});
    }
  }
  for (CalibrationRow& row : rows_) {
    const bool alone = rows_of_kernel.size() == 1;
    row.group = alone ? fmt::format("{:03} {:08}", row.set, row.sample) : row.kernel;
    row.weight = 1 / std::sqrt(rows_of_kernel.at(row.kernel));
    if (any_tile && sample(row).tile == TileConfig{}) row.weight *= kUnknownTile;
  }
  add_tiles(device);
}

const measured::Sample& CalibrationRows::sample(const CalibrationRow& row) const {
  return sets_[row.set].samples[row.sample];
}

const measured::Workload& CalibrationRows::work(const CalibrationRow& row) const {
  return sets_[row.set].works[sample(row).work];
}

void CalibrationRows::add_tiles(const hwdesc::Device& device) {
  std::vector<KernelQuery> queries;
  std::set<const ir::Kernel*> asked;
  for (const CalibrationRow& row : rows_) {
    for (const measured::WorkloadPart& part : work(row).parts) {
      if (sample(row).tile == TileConfig{} && asked.insert(&part.kernel).second) {
        queries.push_back({part.kernel});
      }
    }
  }
  const std::vector<std::optional<Estimate>> answers = model_.estimate(queries, device);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!answers[i] || answers[i]->tile == TileConfig{}) continue;
    std::vector<TileConfig>& tiles = tiles_[&queries[i].kernel];
    if (std::ranges::find(tiles, answers[i]->tile) == tiles.end()) {
      tiles.push_back(answers[i]->tile);
    }
  }
}

std::vector<double> CalibrationRows::log_errors(const hwdesc::Device& device) const {
  const BestTiles model(*this);
  std::vector<std::vector<measured::Prediction>> answers;
  for (const measured::PredictionPlan& plan : plans_) {
    answers.push_back(plan.predict(model, device, jobs_));
  }
  std::vector<double> errors;
  errors.reserve(rows_.size());
  for (const CalibrationRow& row : rows_) {
    const double predicted = answers[row.set][row.sample].comparable().value;
    errors.push_back(std::log(predicted / row.measured_s));
  }
  return errors;
}

}  // namespace tilecast::hybrid

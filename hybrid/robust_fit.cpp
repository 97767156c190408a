#include "hybrid/robust_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/solvers.h"
#include "base/statistics.h"
#include "measured/metrics.h"

namespace tilecast::hybrid {
namespace {

constexpr double kCauchy = 2.385;
constexpr double kStep = 1e-4;          // of x, for differences
constexpr double kFirstScatter = 0.1;   // before the rows say better
constexpr double kLeastScatter = 0.02;  // no model of ours is better than 2 %
constexpr double kMostScatter = 0.5;
constexpr int kRounds = 3;         // fit, estimate the scatter, fit again
constexpr double kPooledRows = 3;  // rows for which the scatter of all stands in a class
constexpr int kIterations = 30;

double robust(double u) {
  const double loss = std::log1p((u / kCauchy) * (u / kCauchy));
  return std::copysign(kCauchy * std::sqrt(loss), u);
}

struct Rows {
  const Errors& errors;
  std::span<const Constant> constants;
  std::span<const std::size_t> rows;
  std::span<const RowTraits> traits;
};

bool all_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
}

class Cost {
 public:
  Cost(const Rows& rows, const std::vector<double>& scatter) : rows_(rows), scatter_(scatter) {}

  [[nodiscard]] base::LeastSquares problem() const {
    base::LeastSquares problem{.residuals = rows_.rows.size() + rows_.constants.size(),
                               .iterations = kIterations,
                               .function_tolerance = 1e-8,
                               .parameter_tolerance = 1e-6};
    for (const Constant& constant : rows_.constants) {
      problem.low.push_back(constant.low);
      problem.high.push_back(std::max(constant.high, 1e-9));
    }
    problem.evaluate = [this](std::span<const double> x, std::span<double> residuals,
                              std::span<double> jacobian) {
      return evaluate({x.begin(), x.end()}, residuals, jacobian);
    };
    return problem;
  }

 private:
  bool evaluate(std::vector<double> x, std::span<double> residuals,
                std::span<double> jacobian) const {
    const std::vector<double> base = residuals_at(x);
    std::ranges::copy(base, residuals.begin());
    for (std::size_t j = 0; j < x.size() && !jacobian.empty(); ++j) {
      const double at = x[j];
      const double step = at + kStep > rows_.constants[j].high ? -kStep : kStep;
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
    const std::vector<double> errors = rows_.errors(x);
    std::vector<double> residuals;
    residuals.reserve(rows_.rows.size() + x.size());
    for (const std::size_t i : rows_.rows) {
      residuals.push_back(std::sqrt(rows_.traits[i].weight) * robust(errors[i] / scatter_[i]));
    }
    for (std::size_t j = 0; j < x.size(); ++j) {
      residuals.push_back(x[j] / rows_.constants[j].prior);
    }
    return residuals;
  }

  const Rows& rows_;
  const std::vector<double>& scatter_;  // by entry of the errors
};

// By how much the least sum of squares lies past each bound that stops x: the Newton step of that x
// alone, the others following it.
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

// Median of |error - median error| as the standard deviation of a normal: what all rows of a class
// have in common is for the constants to explain.
double scatter_of(const std::vector<double>& errors) {
  constexpr double kNormal = 1.4826;
  const double centre = base::median(errors);
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error - centre));
  return std::clamp(kNormal * base::median(sizes), kLeastScatter, kMostScatter);
}

struct Scatter {
  double all = kFirstScatter;
  std::vector<double> of_row;  // by entry of the errors
};

Scatter estimate_scatter(const std::vector<double>& errors, const Rows& data) {
  std::vector<double> all;
  std::map<std::string, std::vector<double>> by_class;
  for (const std::size_t i : data.rows) {
    all.push_back(errors[i]);
    by_class[data.traits[i].op_class].push_back(errors[i]);
  }
  Scatter scatter{scatter_of(all), std::vector<double>(errors.size(), kFirstScatter)};
  std::map<std::string, double> of_class;
  for (const auto& [op_class, own] : by_class) {
    const double n = static_cast<double>(own.size());
    of_class[op_class] = (n * scatter_of(own) + kPooledRows * scatter.all) / (n + kPooledRows);
  }
  for (const std::size_t i : data.rows) scatter.of_row[i] = of_class.at(data.traits[i].op_class);
  return scatter;
}

}  // namespace

Fit robust_fit(const Errors& errors, std::span<const Constant> constants,
               std::span<const std::size_t> rows, std::span<const RowTraits> traits,
               std::vector<double> start) {
  Fit fit{.x = std::move(start)};
  fit.x.resize(constants.size(), 0);
  const Rows data{errors, constants, rows, traits};
  Scatter scatter{kFirstScatter, std::vector<double>(traits.size(), kFirstScatter)};
  for (int round = 0; round < kRounds && !constants.empty(); ++round) {
    const Cost cost(data, scatter.of_row);
    const auto solution = base::least_squares(cost.problem(), std::move(fit.x));
    fit.x = solution.x;
    fit.deviation = solution.deviation;
    fit.beyond_bound = beyond_bounds(solution, constants);
    scatter = estimate_scatter(errors(fit.x), data);
    fit.scatter = scatter.all;
  }
  fit.beyond_bound.resize(constants.size(), 0);
  if (fit.deviation.empty()) {
    for (const Constant& constant : constants) fit.deviation.push_back(constant.prior);
  }
  return fit;
}

}  // namespace tilecast::hybrid

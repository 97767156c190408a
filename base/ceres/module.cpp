// The module that base/solvers.cpp loads: its C symbols, and adapters from our problems to Ceres.
#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/plugin.h"
#include "base/solvers.h"

namespace tilecast::base {
namespace {

// Ceres is not exception-safe: the first exception is kept, and Ceres is told that there is no
// value.
class Guard {
 public:
  template <class Body>
  bool operator()(const Body& body) {
    if (failure_) return false;
    try {
      return body();
    } catch (...) {
      failure_ = std::current_exception();
      return false;
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_;
};

class Residuals final : public ceres::CostFunction {
 public:
  Residuals(const LeastSquares& problem, Guard& guard) : problem_(problem), guard_(guard) {
    mutable_parameter_block_sizes()->push_back(static_cast<int>(problem.low.size()));
    set_num_residuals(static_cast<int>(problem.residuals));
  }

  bool Evaluate(double const* const* x, double* residuals, double** jacobians) const override {
    const std::size_t width = problem_.low.size();
    std::span<double> jacobian;
    if (jacobians != nullptr && jacobians[0] != nullptr) {
      jacobian = {jacobians[0], problem_.residuals * width};
    }
    return guard_([&] {
      return problem_.evaluate({x[0], width}, {residuals, problem_.residuals}, jacobian);
    });
  }

 private:
  const LeastSquares& problem_;
  Guard& guard_;
};

class Function final : public ceres::FirstOrderFunction {
 public:
  Function(const SmoothFunction& function, std::size_t width, Guard& guard)
      : function_(function), width_(width), guard_(guard) {}

  bool Evaluate(const double* x, double* value, double* gradient) const override {
    return guard_([&] {
      return function_.evaluate({x, width_}, *value, {gradient, gradient == nullptr ? 0 : width_});
    });
  }
  [[nodiscard]] int NumParameters() const override { return static_cast<int>(width_); }

 private:
  const SmoothFunction& function_;
  std::size_t width_;
  Guard& guard_;
};

std::vector<double> deviations(ceres::Problem& problem, const std::vector<double>& x) {
  ceres::Covariance::Options options;
  options.algorithm_type = ceres::DENSE_SVD;
  options.null_space_rank = -1;
  ceres::Covariance covariance(options);
  const std::vector<std::pair<const double*, const double*>> blocks = {{x.data(), x.data()}};
  std::vector<double> matrix(x.size() * x.size(), 0);
  if (!covariance.Compute(blocks, &problem) ||
      !covariance.GetCovarianceBlock(x.data(), x.data(), matrix.data())) {
    return {};
  }
  std::vector<double> result;
  for (std::size_t j = 0; j < x.size(); ++j) {
    result.push_back(std::sqrt(std::max(matrix[j * x.size() + j], 0.0)));
  }
  return result;
}

LeastSquaresSolution solve_least_squares(const LeastSquares& problem, std::vector<double> start) {
  TC_CHECK(problem.low.size() == start.size() && problem.high.size() == start.size(),
           "bounds of every x");
  Guard guard;
  ceres::Problem solved;
  std::vector<double>& x = start;
  solved.AddResidualBlock(new Residuals(problem, guard), nullptr, x.data());
  for (std::size_t j = 0; j < x.size(); ++j) {
    solved.SetParameterLowerBound(x.data(), static_cast<int>(j), problem.low[j]);
    solved.SetParameterUpperBound(x.data(), static_cast<int>(j), problem.high[j]);
  }
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = problem.iterations;
  options.function_tolerance = problem.function_tolerance;
  options.parameter_tolerance = problem.parameter_tolerance;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &solved, &summary);
  guard.rethrow();
  LeastSquaresSolution solution;
  if (summary.IsSolutionUsable()) {
    solution.deviation = deviations(solved, x);
    solved.Evaluate({}, nullptr, nullptr, &solution.gradient, nullptr);
    guard.rethrow();
  }
  solution.x = std::move(start);
  return solution;
}

std::vector<double> solve_smooth_minimum(const SmoothFunction& function,
                                         std::vector<double> start) {
  Guard guard;
  const ceres::GradientProblem problem(new Function(function, start.size(), guard));
  ceres::GradientProblemSolver::Options options;
  options.line_search_direction_type = ceres::BFGS;
  options.max_num_iterations = function.iterations;
  options.function_tolerance = function.function_tolerance;
  options.logging_type = ceres::SILENT;
  ceres::GradientProblemSolver::Summary summary;
  ceres::Solve(options, problem, start.data(), &summary);
  guard.rethrow();
  return start;
}

constexpr Solvers kSolvers = {&solve_least_squares, &solve_smooth_minimum};

}  // namespace
}  // namespace tilecast::base

TILECAST_PLUGIN(ceres, tilecast::base::kCeresModuleAbi, &tilecast::base::kSolvers)

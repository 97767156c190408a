#include "learned/training/gp_trainer.h"

#include <ceres/ceres.h>
#include <fmt/format.h>

#include <Eigen/Core>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "measured/splits.h"

namespace tilecast::learned {
namespace {

constexpr int kParameters = 3;
constexpr int kMostIterations = 40;
constexpr double kFarthest = 4;  // prior deviations; hyper-parameters come no further
constexpr double kEnough = 1e-5;

// Minus the log posterior of hyper-parameters, up to a constant. Their logarithms are
// deviations(z) prior deviations from the centres.
class Posterior final : public ceres::FirstOrderFunction {
 public:
  Posterior(const GpTable& table, const GpSpec& spec) : table_(table), spec_(spec) {}

  [[nodiscard]] GpHyper hyper(const double* z) const {
    const auto factor = [&](double each) {
      return std::exp(spec_.prior_deviation * deviations(each));
    };
    return {.amplitude = spec_.amplitude * factor(z[0]),
            .length = spec_.length * factor(z[1]),
            .noise = spec_.noise * factor(z[2])};
  }

  bool Evaluate(const double* z, double* cost, double* gradient) const override {
    for (int i = 0; i < kParameters; ++i) {
      if (!std::isfinite(z[i])) return false;
    }
    const Evidence found = evidence(table_, hyper(z));
    if (!std::isfinite(found.log_likelihood)) return false;
    const double by_log[] = {found.by_log_amplitude, found.by_log_length, found.by_log_noise};
    *cost = -found.log_likelihood;
    for (int i = 0; i < kParameters; ++i) {
      const double x = deviations(z[i]), bend = x / kFarthest;
      *cost += 0.5 * x * x;
      if (gradient != nullptr) {
        gradient[i] = (x - spec_.prior_deviation * by_log[i]) * (1 - bend * bend);
      }
    }
    return true;
  }
  [[nodiscard]] int NumParameters() const override { return kParameters; }

 private:
  // z near 0, and never beyond kFarthest: data without noise would have the noise go to 0.
  static double deviations(double z) { return kFarthest * std::tanh(z / kFarthest); }

  const GpTable& table_;
  const GpSpec& spec_;
};

GpTable some_rows(const GpTable& table, std::size_t count, std::uint64_t seed) {
  if (table.rows() <= count) return table;
  std::vector<std::size_t> all(table.rows());
  std::iota(all.begin(), all.end(), std::size_t{0});
  GpTable result{.columns = table.columns, .values = {}, .targets = {}, .scales = table.scales};
  for (const std::size_t row : measured::sampled_rows(all, count, seed).fit) {
    const auto first = table.values.begin() + static_cast<std::ptrdiff_t>(row * table.columns);
    result.values.insert(result.values.end(), first,
                         first + static_cast<std::ptrdiff_t>(table.columns));
    result.targets.push_back(table.targets[row]);
    if (!table.weights.empty()) result.weights.push_back(table.weights[row]);
  }
  return result;
}

GpHyper best_hyper(const GpTable& table, const GpSpec& spec) {
  auto* const posterior = new Posterior(table, spec);  // the problem's
  const ceres::GradientProblem problem(posterior);
  ceres::GradientProblemSolver::Options options;
  options.line_search_direction_type = ceres::BFGS;
  options.max_num_iterations = kMostIterations;
  options.function_tolerance = kEnough;
  options.logging_type = ceres::SILENT;
  double z[kParameters] = {0, 0, 0};
  ceres::GradientProblemSolver::Summary summary;
  ceres::Solve(options, problem, z, &summary);
  return posterior->hyper(z);  // where nothing can be solved: the centres
}

}  // namespace

const ParameterTable<GpSpec>& gp_parameters() {
  static const ParameterTable<GpSpec> table = [] {
    ParameterTable<GpSpec> all;
    all.number("amplitude", &GpSpec::amplitude, 1e-3, 100,
               "how far the log of a time is from its mean; centre of a prior")
        .number("length", &GpSpec::length, 1e-2, 100,
                "how far, in deviations of the columns, rows say something about each other; "
                "centre of a prior")
        .number("noise", &GpSpec::noise, 1e-4, 10,
                "deviation of the log of equal measurements; centre of a prior")
        .number("prior_deviation", &GpSpec::prior_deviation, 1e-3, 2,
                "how far the logarithms of those three may move")
        .number("hyper_rows", &GpSpec::hyper_rows, 3, 4000, "rows that choose those three")
        .number("rows", &GpSpec::rows, 3, 4000, "rows that are kept, at most")
        .number("seed", &GpSpec::seed, 0, 4294967295.0, "of the samples of rows");
    return all;
  }();
  return table;
}

GaussianProcess train_gp(const GpTable& table, const GpSpec& spec) {
  if (table.rows() == 0) throw Error("Gaussian process: got no rows, expected at least one");
  const GpTable kept = some_rows(table, static_cast<std::size_t>(spec.rows), spec.seed);
  check_table(kept);
  const GpTable sample = some_rows(kept, static_cast<std::size_t>(spec.hyper_rows), spec.seed);
  return GaussianProcess::fit(kept, best_hyper(sample, spec));
}

std::string eigen_version() {
  return fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
}

}  // namespace tilecast::learned

#include "learned/training/gp_trainer.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/solvers.h"
#include "measured/splits.h"

namespace tilecast::learned {
namespace {

constexpr int kMostIterations = 40;
constexpr double kFarthest = 4;  // prior deviations; hyper-parameters come no further
constexpr double kEnough = 1e-5;

// z near 0, and never beyond kFarthest: data without noise would have the noise go to 0.
double deviations(double z) {
  return kFarthest * std::tanh(z / kFarthest);
}

// Their logarithms are deviations(z) prior deviations from the centres.
GpHyper hyper_at(const GpSpec& spec, std::span<const double> z) {
  const auto factor = [&](double each) {
    return std::exp(spec.prior_deviation * deviations(each));
  };
  return {.amplitude = spec.amplitude * factor(z[0]),
          .length = spec.length * factor(z[1]),
          .noise = spec.noise * factor(z[2])};
}

// Minus the log posterior of hyper-parameters, up to a constant. False: it has no value there.
bool posterior(const GpTable& table, const GpSpec& spec, std::span<const double> z, double& cost,
               std::span<double> gradient) {
  if (!std::ranges::all_of(z, [](double each) { return std::isfinite(each); })) return false;
  const Evidence found = evidence(table, hyper_at(spec, z));
  if (!std::isfinite(found.log_likelihood)) return false;
  const double by_log[] = {found.by_log_amplitude, found.by_log_length, found.by_log_noise};
  cost = -found.log_likelihood;
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double x = deviations(z[i]), bend = x / kFarthest;
    cost += 0.5 * x * x;
    if (!gradient.empty()) {
      gradient[i] = (x - spec.prior_deviation * by_log[i]) * (1 - bend * bend);
    }
  }
  return true;
}

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
  const base::SmoothFunction function{
      .evaluate =
          [&](std::span<const double> z, double& cost, std::span<double> gradient) {
            return posterior(table, spec, z, cost, gradient);
          },
      .iterations = kMostIterations,
      .function_tolerance = kEnough};
  return hyper_at(spec, base::smooth_minimum(function, {0, 0, 0}));
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

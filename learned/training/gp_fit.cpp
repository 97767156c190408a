#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "learned/training/fit.h"
#include "measured/splits.h"

namespace tilecast::learned {
namespace {

// A column that differs in one row of a hundred is not stretched to deviation 1.
constexpr float kMostScale = 10;

using ByKernel = std::map<std::uint32_t, std::vector<std::size_t>>;

// Rows per kernel so that all have equally many or all they have, and `count` in all.
std::map<std::uint32_t, std::size_t> shares(const ByKernel& kernels, std::size_t count,
                                            std::uint64_t seed) {
  std::map<std::uint32_t, std::size_t> share;
  std::size_t left = count;
  while (true) {
    std::vector<std::size_t> open;  // kernels that have more
    for (const auto& [kernel, rows] : kernels) {
      if (share[kernel] < rows.size()) open.push_back(kernel);
    }
    if (left < open.size()) {
      if (left > 0) open = measured::sampled_rows(open, left, seed).fit;
      if (left == 0) return share;
    }
    for (const std::size_t kernel : open) ++share[static_cast<std::uint32_t>(kernel)];
    left -= open.size();
  }
}

// At most `count`, evenly over kernels, ascending.
std::vector<std::size_t> spread_rows(const Examples& examples, std::span<const std::size_t> rows,
                                     std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> chosen(rows.begin(), rows.end());
  if (rows.size() <= count) return chosen;
  ByKernel kernels;
  for (const std::size_t row : rows) kernels[examples.rows[row].kernel].push_back(row);
  chosen.clear();
  for (const auto& [kernel, share] : shares(kernels, count, seed)) {
    const std::vector<std::size_t>& all = kernels.at(kernel);
    if (share == 0) continue;
    const auto some =
        share == all.size() ? all : measured::sampled_rows(all, share, seed + 1 + kernel).fit;
    chosen.insert(chosen.end(), some.begin(), some.end());
  }
  std::ranges::sort(chosen);
  return chosen;
}

// 1 / deviation of each column; 0 where it never varies.
std::vector<float> scales_of(std::span<const float> rows, std::size_t width) {
  std::vector<float> scales;
  const auto count = static_cast<double>(rows.size() / width);
  for (std::size_t column = 0; column < width; ++column) {
    double mean = 0, variance = 0;
    for (std::size_t i = column; i < rows.size(); i += width) {
      mean += static_cast<double>(rows[i]) / count;
    }
    for (std::size_t i = column; i < rows.size(); i += width) {
      const double off = static_cast<double>(rows[i]) - mean;
      variance += off * off / count;
    }
    constexpr double kNone = 1e-6;  // of a range of 1
    const double deviation = std::sqrt(variance);
    scales.push_back(deviation < kNone ? 0
                                       : std::min(kMostScale, static_cast<float>(1 / deviation)));
  }
  return scales;
}

// Of the log of times, by the weights of their rows.
double fit_error(const GaussianProcess& process, const GpTable& table) {
  std::vector<double> means(table.rows());
  process.predict(table.values, means);
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < means.size(); ++i) {
    sum += table.weights[i] * std::pow(means[i] - table.targets[i], 2);
    weights += table.weights[i];
  }
  return std::sqrt(sum / weights);
}

class ProcessFitter final : public Fitter {
 public:
  ProcessFitter(const LearnerSpec& spec, const Examples& examples, const TrainValidation& split,
                int threads) {
    const std::vector<std::size_t> rows = by_kernel(
        examples,
        spread_rows(examples, split.train, static_cast<std::size_t>(spec.gp.rows), spec.seed));
    const TableFeatures features(spec.features);
    table_.columns = features.width();
    table_.values = feature_rows(features, examples, rows, threads);
    scaler_ = FeatureScaler::by_magnitude(table_.values, features.schema());
    scaler_.apply(table_.values);
    table_.scales = scales_of(table_.values, features.width());
    const Standardisation times = standardisation_of(examples, rows);
    if (!spec.target.residual) target_.mean = times.mean;
    spread_ = spec.target.residual ? 0 : times.deviation;
    for (const std::size_t row : rows) {
      table_.targets.push_back(examples.rows[row].target - target_.mean);
      table_.weights.push_back(examples.rows[row].weight);
    }
  }

  [[nodiscard]] FitResult fit(const LearnerSpec& spec, const FitHooks& hooks) const override {
    GpSpec gp = spec.gp;
    gp.seed = spec.seed;
    gp.amplitude = std::max(gp.amplitude, spread_);
    GaussianProcess process = train_gp(table_, gp);
    if (hooks.step) hooks.step({1, fit_error(process, table_), std::nan("")});
    GpPredictorParts parts{.features = spec.features,
                           .scaler = scaler_,
                           .process = std::move(process),
                           .target = target_};
    return {make_predictor(std::move(parts)), std::numeric_limits<double>::infinity()};
  }

 private:
  GpTable table_;
  FeatureScaler scaler_;
  Standardisation target_;
  double spread_ = 0;  // of what is predicted, where that is times: physics does not carry them
};

}  // namespace

std::unique_ptr<Fitter> make_gp_fitter(const LearnerSpec& spec, const Examples& examples,
                                       const TrainValidation& split, int threads) {
  return std::make_unique<ProcessFitter>(spec, examples, split, threads);
}

}  // namespace tilecast::learned

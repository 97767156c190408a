#include "search/gaussian_process.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "base/solvers.h"
#include "measured/splits.h"

namespace tilecast::search {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr int kMostIterations = 40;
// Limit of hyper-parameters, in standard deviations of the priors (1 for each logarithm).
constexpr double kFarthest = 4;
constexpr double kEnough = 1e-5;
constexpr std::uint64_t kSampleSeed = 1;

Eigen::Index count_of(const GpPoints& points) {
  return static_cast<Eigen::Index>(points.size());
}

// Covariance matrix without noise, with `rows` rows.
Matrix signal_of(std::span<const double> squares, Eigen::Index rows, const GpHyper& hyper) {
  const auto columns = static_cast<Eigen::Index>(squares.size()) / rows;
  const Eigen::Map<const Eigen::ArrayXXd> all(squares.data(), rows, columns);
  const double scale = -0.5 / (hyper.length * hyper.length);
  return hyper.amplitude * hyper.amplitude * (scale * all).exp();
}

Eigen::LLT<Matrix> cholesky_of(Matrix signal, const GpHyper& hyper) {
  signal.diagonal().array() += hyper.noise * hyper.noise;
  return signal.llt();
}

Eigen::Map<const Vector> targets_of(const GpPoints& points) {
  return {points.targets.data(), count_of(points)};
}

// Limits z smoothly to kFarthest: for data without noise, the noise would go to 0.
double deviations(double z) {
  return kFarthest * std::tanh(z / kFarthest);
}

// Hyper-parameters whose logarithms are deviations(z) away from their priors' centres.
GpHyper hyper_at(std::span<const double> z) {
  const GpHyper centre;
  return {.amplitude = centre.amplitude * std::exp(deviations(z[0])),
          .length = centre.length * std::exp(deviations(z[1])),
          .noise = centre.noise * std::exp(deviations(z[2]))};
}

// Minus the log posterior of hyper-parameters, up to a constant. False if it is undefined.
bool posterior(const GpPoints& points, std::span<const double> z, double& cost,
               std::span<double> gradient) {
  const Evidence found = evidence(points, hyper_at(z));
  if (!std::isfinite(found.log_likelihood)) return false;
  const double by_log[] = {found.by_log_amplitude, found.by_log_length, found.by_log_noise};
  cost = -found.log_likelihood;
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double x = deviations(z[i]), bend = x / kFarthest;
    cost += 0.5 * x * x;
    if (!gradient.empty()) gradient[i] = (x - by_log[i]) * (1 - bend * bend);
  }
  return true;
}

GpPoints some_of(const GpPoints& points) {
  if (points.size() <= kMostEvidence) return points;
  std::vector<std::size_t> all(points.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::vector<std::size_t> chosen =
      measured::sampled_rows(all, kMostEvidence, kSampleSeed).fit;
  GpPoints some;
  for (const std::size_t row : chosen) {
    some.targets.push_back(points.targets[row]);
    for (const std::size_t other : chosen) {
      some.squares.push_back(points.squares[row * points.size() + other]);
    }
  }
  return some;
}

}  // namespace

Evidence evidence(const GpPoints& points, const GpHyper& hyper) {
  const Eigen::Index count = count_of(points);
  const Matrix signal = signal_of(points.squares, count, hyper);
  const Eigen::LLT<Matrix> cholesky = cholesky_of(signal, hyper);
  if (cholesky.info() != Eigen::Success) {
    return {.log_likelihood = -std::numeric_limits<double>::infinity()};
  }
  const Vector alpha = cholesky.solve(targets_of(points));
  // Eq. 5.9: d/dx = tr((alpha alpha^T - K^-1) dK/dx) / 2.
  Matrix spread = -cholesky.solve(Matrix::Identity(count, count));
  spread.noalias() += alpha * alpha.transpose();
  const Eigen::Map<const Matrix> squares(points.squares.data(), count, count);
  const Matrix by_length = signal.cwiseProduct(squares) / (hyper.length * hyper.length);
  const double log_determinant = 2 * Matrix(cholesky.matrixL()).diagonal().array().log().sum();
  return {.log_likelihood = -0.5 * (targets_of(points).dot(alpha) + log_determinant +
                                    static_cast<double>(count) * std::log(2 * std::numbers::pi)),
          .by_log_amplitude = spread.cwiseProduct(signal).sum(),
          .by_log_length = 0.5 * spread.cwiseProduct(by_length).sum(),
          .by_log_noise = hyper.noise * hyper.noise * spread.trace()};
}

GpHyper likely_hyper(const GpPoints& points) {
  const GpPoints some = some_of(points);
  const base::SmoothFunction function{
      .evaluate = [&](std::span<const double> z, double& cost,
                      std::span<double> gradient) { return posterior(some, z, cost, gradient); },
      .iterations = kMostIterations,
      .function_tolerance = kEnough};
  return hyper_at(base::smooth_minimum(function, {0, 0, 0}));
}

GaussianProcess::GaussianProcess(const GpPoints& points, const GpHyper& hyper) : hyper_(hyper) {
  const Eigen::Index count = count_of(points);
  TC_CHECK(count > 0, "a process of no points");
  const Eigen::LLT<Matrix> cholesky = cholesky_of(signal_of(points.squares, count, hyper), hyper);
  TC_CHECK(cholesky.info() == Eigen::Success, "points that cannot be told apart");
  const Matrix inverse = cholesky.solve(Matrix::Identity(count, count));
  const Vector alpha = inverse * targets_of(points);
  inverse_.assign(inverse.data(), inverse.data() + inverse.size());
  alpha_.assign(alpha.data(), alpha.data() + alpha.size());
}

GaussianProcess::Answer GaussianProcess::predict(std::span<const double> squares) const {
  const auto count = static_cast<Eigen::Index>(alpha_.size());
  TC_CHECK(squares.size() == alpha_.size(), "a distance to each point");
  const Eigen::Map<const Matrix> inverse(inverse_.data(), count, count);
  const Eigen::Map<const Vector> alpha(alpha_.data(), count);
  const Vector near = signal_of(squares, count, hyper_);
  const Vector solved = inverse * near;
  const double variance = hyper_.amplitude * hyper_.amplitude - near.dot(solved);
  return {.mean = near.dot(alpha), .variance = std::max(variance, 0.0)};
}

}  // namespace tilecast::search

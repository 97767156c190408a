#include "learned/gaussian_process.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "learned/gaussian_process_limits.h"

namespace tilecast::learned {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

bool is_possible(double hyper) {
  return hyper >= kLeastHyper && hyper <= kMostHyper;  // not NaN
}

bool within(double value, double most) {
  return std::fabs(value) <= most;  // not NaN
}

void check_hyper(const GpHyper& hyper) {
  const std::array<double, 3> numbers = numbers_of(hyper);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (is_possible(numbers[i])) continue;
    throw Error(fmt::format("Gaussian process: {}: got {}, expected {} to {}", kHyperNames[i],
                            numbers[i], kLeastHyper, kMostHyper));
  }
}

std::vector<float> scales_of(const GpTable& table) {
  return table.scales.empty() ? std::vector<float>(table.columns, 1) : table.scales;
}

std::size_t active_columns(std::span<const float> scales) {
  return static_cast<std::size_t>(std::ranges::count_if(scales, [](float x) { return x > 0; }));
}

double squared_length(const GpHyper& hyper, std::span<const float> scales) {
  const auto columns = static_cast<double>(std::max<std::size_t>(active_columns(scales), 1));
  return columns * hyper.length * hyper.length;
}

// |x - x'|^2 of all rows, scaled.
Matrix squared_distances(const GpTable& table) {
  const std::vector<float> scales = scales_of(table);
  const auto rows = static_cast<Eigen::Index>(table.rows());
  Matrix points(static_cast<Eigen::Index>(active_columns(scales)), rows);
  for (Eigen::Index column = 0, i = 0; column < static_cast<Eigen::Index>(scales.size());
       ++column) {
    const auto scale = static_cast<double>(scales[static_cast<std::size_t>(column)]);
    if (!(scale > 0)) continue;
    for (Eigen::Index row = 0; row < rows; ++row) {
      const auto at = static_cast<std::size_t>(row) * table.columns;
      points(i, row) =
          scale * static_cast<double>(table.values[at + static_cast<std::size_t>(column)]);
    }
    ++i;
  }
  Matrix squares(rows, rows);
  for (Eigen::Index row = 0; row < rows; ++row) {
    squares(row, row) = 0;
    for (Eigen::Index other = 0; other < row; ++other) {
      squares(row, other) = (points.col(row) - points.col(other)).squaredNorm();
      squares(other, row) = squares(row, other);
    }
  }
  return squares;
}

struct Covariance {
  Matrix squares;  // |x - x'|^2 / (c l^2)
  Matrix signal;   // without noise
  Vector noise;    // on the diagonal

  [[nodiscard]] Eigen::LLT<Matrix> cholesky() const {
    Matrix all = signal;
    all.diagonal() += noise;
    return all.llt();
  }
};

Covariance covariance_of(const GpTable& table, const GpHyper& hyper) {
  Covariance result;
  result.squares = squared_distances(table) / squared_length(hyper, scales_of(table));
  result.signal =
      hyper.amplitude * hyper.amplitude * (-0.5 * result.squares.array()).exp().matrix();
  result.noise =
      Vector::Constant(static_cast<Eigen::Index>(table.rows()), hyper.noise * hyper.noise);
  for (std::size_t row = 0; row < table.weights.size(); ++row) {
    result.noise[static_cast<Eigen::Index>(row)] /= table.weights[row];
  }
  return result;
}

Vector targets_of(const GpTable& table) {
  return Eigen::Map<const Vector>(table.targets.data(), static_cast<Eigen::Index>(table.rows()));
}

}  // namespace

void check_table(const GpTable& table) {
  TC_CHECK(table.values.size() == table.rows() * table.columns, "values of another size");
  TC_CHECK(table.weights.empty() || table.weights.size() == table.rows(), "one weight per row");
  TC_CHECK(table.scales.empty() || table.scales.size() == table.columns, "one scale per column");
  const auto fail = [](std::string_view what, double got, std::string_view expected) {
    throw Error(fmt::format("Gaussian process: a {}: got {}, expected {}", what, got, expected));
  };
  if (table.rows() > GaussianProcess::kMostRows) {
    throw Error(fmt::format("Gaussian process: got {} rows, expected at most {}", table.rows(),
                            GaussianProcess::kMostRows));
  }
  for (const float value : table.values) {
    if (!within(static_cast<double>(value), kMostValue)) {
      fail("value", static_cast<double>(value), "a finite number, at most 1e12");
    }
  }
  for (const double target : table.targets) {
    if (!within(target, kMostValue)) fail("target", target, "a finite number, at most 1e12");
  }
  for (const double weight : table.weights) {
    if (!(weight > 0 && weight <= kMostValue)) fail("weight", weight, "more than 0, at most 1e12");
  }
  for (const float scale : table.scales) {
    if (!(scale >= 0 && static_cast<double>(scale) <= kMostScale)) {
      fail("scale", static_cast<double>(scale), "0 to 1e6");
    }
  }
}

GaussianProcess GaussianProcess::fit(const GpTable& table, const GpHyper& hyper) {
  check_table(table);
  check_hyper(hyper);
  GaussianProcess process(hyper, table.columns);
  process.scales_ = scales_of(table);
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    if (process.scales_[i % table.columns] > 0) process.values_.push_back(table.values[i]);
  }
  process.weights_.resize(table.rows());
  if (table.rows() > 0) {
    const Eigen::LLT<Matrix> cholesky = covariance_of(table, hyper).cholesky();
    const Vector alpha = cholesky.solve(targets_of(table));
    const bool solved = cholesky.info() == Eigen::Success && alpha.allFinite();
    if (!solved || alpha.lpNorm<Eigen::Infinity>() > kMostWeight) {
      throw Error(fmt::format("Gaussian process: noise: got {} with amplitude {}, expected more",
                              hyper.noise, hyper.amplitude));
    }
    std::ranges::copy(alpha, process.weights_.begin());
  }
  process.prepare();
  return process;
}

void GaussianProcess::prepare() {
  const double width = std::sqrt(2 * squared_length(hyper_, scales_));
  for (std::size_t column = 0; column < columns_; ++column) {
    if (!(scales_[column] > 0)) continue;
    active_.push_back(static_cast<std::uint32_t>(column));
    factors_.push_back(static_cast<float>(static_cast<double>(scales_[column]) / width));
  }
  const std::size_t blocks = (rows() + kBlock - 1) / kBlock;
  blocks_.resize(blocks * active_.size() * kBlock);
  heights_.resize(blocks * kBlock);
  for (std::size_t row = 0; row < rows(); ++row) {
    heights_[row] = hyper_.amplitude * hyper_.amplitude * weights_[row];
    float* const block = blocks_.data() + row / kBlock * kBlock * active_.size() + row % kBlock;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      block[i * kBlock] = values_[row * active_.size() + i] * factors_[i];
    }
  }
}

// `row`: the columns that count, multiplied by their factors.
double GaussianProcess::mean(const float* row) const {
  using Lanes = Eigen::Array<float, static_cast<int>(kBlock), 1>;
  using Heights = Eigen::Array<double, static_cast<int>(kBlock), 1>;
  Heights sum = Heights::Zero();
  const float* block = blocks_.data();
  for (std::size_t first = 0; first < heights_.size(); first += kBlock) {
    Lanes squares = Lanes::Zero();
    for (std::size_t i = 0; i < active_.size(); ++i, block += kBlock) {
      squares += (Eigen::Map<const Lanes>(block) - row[i]).square();
    }
    const Lanes near = (-squares).exp();
    sum += near.cast<double>() * Eigen::Map<const Heights>(heights_.data() + first);
  }
  return sum.sum();
}

void GaussianProcess::predict(std::span<const float> rows, std::span<double> out) const {
  TC_CHECK(rows.size() == out.size() * columns_, "rows of another width");
  static thread_local std::vector<float> scaled;
  scaled.resize(active_.size());
  for (std::size_t row = 0; row < out.size(); ++row) {
    const float* const values = rows.data() + row * columns_;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      scaled[i] = values[active_[i]] * factors_[i];
    }
    out[row] = mean(scaled.data());
  }
}

Evidence evidence(const GpTable& table, const GpHyper& hyper) {
  check_table(table);
  check_hyper(hyper);
  if (table.rows() == 0) return {};
  const Covariance covariance = covariance_of(table, hyper);
  const Eigen::LLT<Matrix> cholesky = covariance.cholesky();
  if (cholesky.info() != Eigen::Success) {
    return {.log_likelihood = -std::numeric_limits<double>::infinity()};
  }
  const auto rows = static_cast<Eigen::Index>(table.rows());
  const Vector targets = targets_of(table);
  const Vector alpha = cholesky.solve(targets);
  // Eq. 5.9: d/dx = tr((alpha alpha^T - K^-1) dK/dx) / 2.
  Matrix spread = -cholesky.solve(Matrix::Identity(rows, rows));
  spread.noalias() += alpha * alpha.transpose();
  const Matrix by_amplitude = 2 * covariance.signal;
  const Matrix by_length = covariance.signal.cwiseProduct(covariance.squares);
  const Vector by_noise = 2 * covariance.noise;
  const double log_determinant = 2 * Matrix(cholesky.matrixL()).diagonal().array().log().sum();
  return {.log_likelihood = -0.5 * (targets.dot(alpha) + log_determinant +
                                    static_cast<double>(rows) * std::log(2 * std::numbers::pi)),
          .by_log_amplitude = 0.5 * spread.cwiseProduct(by_amplitude).sum(),
          .by_log_length = 0.5 * spread.cwiseProduct(by_length).sum(),
          .by_log_noise = 0.5 * spread.diagonal().dot(by_noise)};
}

}  // namespace tilecast::learned

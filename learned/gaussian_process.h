// A Gaussian process over the columns of a table: smooth, honest about few rows, and back at 0 far
// from all of them. What corrects physics where measurements are few.
//
//   GaussianProcess gp = GaussianProcess::fit({.columns = 12, .values = x, .targets = y}, hyper);
//   gp.predict(rows, means);
//
// Mean 0 and covariance a^2 exp(-|x - x'|^2 / (2 c l^2)), c the number of columns, plus independent
// noise s^2 / weight of a row (Rasmussen and Williams, Gaussian Processes for Machine Learning, MIT
// Press 2006, eqs. 2.25, 2.26, 2.31 and algorithm 2.1). Columns should be standardised. Predicting
// is thread-safe and allocates nothing per row. Deterministic.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tilecast::learned {

struct GpHyper {
  double amplitude = 0.15;  // a
  double length = 2;        // l, of columns with deviation 1
  double noise = 0.03;      // s
};

struct GpTable {
  std::size_t columns = 0;
  std::vector<float> values;         // rows x columns, finite
  std::vector<double> targets;       // by row
  std::vector<double> weights = {};  // by row, above 0, or empty: 1

  [[nodiscard]] std::size_t rows() const { return targets.size(); }
};

class GaussianProcess {
 public:
  GaussianProcess() = default;  // no rows: predicts 0
  // Throws Error when a value is not finite, a weight not positive or rows are above kMostRows.
  static constexpr std::size_t kMostRows = 4000;
  [[nodiscard]] static GaussianProcess fit(const GpTable& table, const GpHyper& hyper);

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t rows() const { return weights_.size(); }
  [[nodiscard]] const GpHyper& hyper() const { return hyper_; }
  // Means; `rows` is row-major, as many rows as `out` has places.
  void predict(std::span<const float> rows, std::span<double> out) const;

  // CSV: hyper-parameters, then a line per row: its weight in the mean, its columns. load() throws
  // Error with line for anything else, other widths, or numbers that are not finite.
  [[nodiscard]] std::string save() const;
  [[nodiscard]] static GaussianProcess load(const std::string& text, const std::string& file,
                                            std::size_t columns);

 private:
  GpHyper hyper_;
  std::size_t columns_ = 0;
  std::vector<float> values_;    // rows x columns
  std::vector<double> weights_;  // alpha of algorithm 2.1
};

// log p(targets | values, hyper) and its derivatives by log amplitude, log length, log noise
// (eqs. 5.8 and 5.9).
struct Evidence {
  double log_likelihood = 0;
  double by_log_amplitude = 0, by_log_length = 0, by_log_noise = 0;
};
[[nodiscard]] Evidence evidence(const GpTable& table, const GpHyper& hyper);

}  // namespace tilecast::learned

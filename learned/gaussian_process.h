// A Gaussian process over the columns of a table: smooth, honest about few rows, and back at 0 far
// from all of them. What corrects physics where measurements are few.
//
//   GaussianProcess gp = GaussianProcess::fit({.columns = 12, .values = x, .targets = y}, hyper);
//   gp.predict(rows, means);
//
// Mean 0 and covariance a^2 exp(-|x - x'|^2 / (2 c l^2)), c the number of columns whose scale is
// not 0, plus independent noise s^2 / weight of a row (Rasmussen and Williams, Gaussian Processes
// for Machine Learning, MIT Press 2006, eqs. 2.25, 2.26, 2.31 and algorithm 2.1). Distances are of
// values times their column's scale: with 1 / deviation all columns count alike, and a column of
// scale 0, one that never varied, moves nothing.
// Fitting is in double; predicting has covariances in float (relative error below 1e-5). Predicting
// is thread-safe and allocates nothing per row. Deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::learned {

struct GpHyper {
  double amplitude = 0.15;  // a
  double length = 2;        // l, of columns with deviation 1
  double noise = 0.03;      // s
};

struct GpTable {
  std::size_t columns = 0;
  std::vector<float> values;         // rows x columns
  std::vector<double> targets;       // by row
  std::vector<double> weights = {};  // by row, above 0, or empty: 1
  std::vector<float> scales = {};    // by column, at least 0, or empty: 1

  [[nodiscard]] std::size_t rows() const { return targets.size(); }
};
// Throws Error where a value, target, weight or scale is not finite, a weight not above 0, a scale
// below 0, or there are more than GaussianProcess::kMostRows rows.
void check_table(const GpTable& table);

class GaussianProcess {
 public:
  GaussianProcess() = default;  // no rows: predicts 0
  static constexpr std::size_t kMostRows = 4000;
  // Throws Error as check_table(), for hyper-parameters outside [1e-9, 1e6], and where noise is so
  // small beside amplitude that equal rows cannot be told apart in double.
  [[nodiscard]] static GaussianProcess fit(const GpTable& table, const GpHyper& hyper);

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t rows() const { return weights_.size(); }
  [[nodiscard]] const GpHyper& hyper() const { return hyper_; }
  // Means; `rows` is row-major and finite, as many rows as `out` has places.
  void predict(std::span<const float> rows, std::span<double> out) const;

  // The line "tilecast.process/1", then little-endian numbers: rows and columns (uint32), the three
  // hyper-parameters and the weight of each row in the mean (double), the scales, and the rows
  // without the columns of scale 0 (float). load() throws Error for anything else, other widths, or
  // numbers that are not finite or not possible.
  [[nodiscard]] std::string save() const;
  [[nodiscard]] static GaussianProcess load(std::string_view saved, const std::string& file,
                                            std::size_t columns);

 private:
  static constexpr std::size_t kBlock = 16;  // rows whose distances are summed side by side

  GaussianProcess(const GpHyper& hyper, std::size_t columns) : hyper_(hyper), columns_(columns) {}
  void prepare();  // what predict() reads, from what is saved
  [[nodiscard]] double mean(const float* row) const;

  GpHyper hyper_;
  std::size_t columns_ = 0;
  std::vector<float> values_;    // rows x columns that count
  std::vector<float> scales_;    // by column
  std::vector<double> weights_;  // alpha of algorithm 2.1
  // Made by prepare(): columns that count, what they are multiplied by so that the exponent is
  // -|x - x'|^2, the rows so multiplied in blocks of kBlock (by block, column, row), and a^2 alpha,
  // both padded with zeros.
  std::vector<std::uint32_t> active_;
  std::vector<float> factors_, blocks_;
  std::vector<double> heights_;
};

// log p(targets | values, hyper) and its derivatives by log amplitude, log length, log noise
// (eqs. 5.8 and 5.9). The log likelihood is minus infinity, and the derivatives 0, where the
// covariance is not positive definite in double.
struct Evidence {
  double log_likelihood = 0;
  double by_log_amplitude = 0, by_log_length = 0, by_log_noise = 0;
};
[[nodiscard]] Evidence evidence(const GpTable& table, const GpHyper& hyper);

}  // namespace tilecast::learned

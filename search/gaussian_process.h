// Gaussian process regression over points that are given by their pairwise distances. Far from all
// points the mean returns to 0.
//
//   const GpPoints points{.squares = distances2, .targets = values};  // n x n and n
//   const GaussianProcess process(points, likely_hyper(points));
//   process.predict(distances2_to_each_point);
//
// Mean 0 and covariance a^2 exp(-d^2 / (2 l^2)) of points at distance d, plus independent noise s^2
// (Rasmussen and Williams, Gaussian Processes for Machine Learning, MIT Press 2006, eqs. 2.25, 2.26
// and 2.31). Internal to the tuner. Deterministic, thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tilecast::search {

// Amplitude and noise are in units of the targets' standard deviation, length in units of distance.
struct GpHyper {
  double amplitude = 1;  // a
  double length = 1;     // l
  double noise = 0.1;    // s
};

struct GpPoints {
  std::vector<double> squares;  // squared distances, by pair of points
  std::vector<double> targets;  // by point

  [[nodiscard]] std::size_t size() const { return targets.size(); }
};

// log p(targets | distances, hyper) and its derivatives by log amplitude, log length and log noise
// (eqs. 5.8 and 5.9). If the covariance is not positive definite in double precision, the log
// likelihood is minus infinity and the derivatives are 0.
struct Evidence {
  double log_likelihood = 0;
  double by_log_amplitude = 0, by_log_length = 0, by_log_noise = 0;
};
[[nodiscard]] Evidence evidence(const GpPoints& points, const GpHyper& hyper);

// The hyper-parameters with maximum evidence (section 5.4), found by BFGS from GpHyper's defaults.
// Log-normal priors around the defaults keep a handful of points from moving them far. With more
// than kMostEvidence points, a sample of that size is used.
inline constexpr std::size_t kMostEvidence = 400;
[[nodiscard]] GpHyper likely_hyper(const GpPoints& points);

class GaussianProcess {
 public:
  // Requires at least one point.
  GaussianProcess(const GpPoints& points, const GpHyper& hyper);

  struct Answer {
    double mean = 0, variance = 0;  // of the function value, without noise
  };
  // Predicts at a point given its squared distances to all points of the process.
  [[nodiscard]] Answer predict(std::span<const double> squares) const;
  [[nodiscard]] const GpHyper& hyper() const { return hyper_; }

 private:
  GpHyper hyper_;
  std::vector<double> inverse_;  // inverse of the covariance with noise, by pair of points
  std::vector<double> alpha_;    // inverse x targets
};

}  // namespace tilecast::search

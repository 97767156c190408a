// A Gaussian process over points of which the distances alone count: smooth, honest about few
// points, and back at 0 far from all of them.
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

// In units of the targets' deviation, and of the distance.
struct GpHyper {
  double amplitude = 1;  // a
  double length = 1;     // l
  double noise = 0.1;    // s
};

struct GpPoints {
  std::vector<double> squares;  // of the distance, by pair of points
  std::vector<double> targets;  // by point

  [[nodiscard]] std::size_t size() const { return targets.size(); }
};

// log p(targets | distances, hyper) and its derivatives by log amplitude, log length, log noise
// (eqs. 5.8 and 5.9). The log likelihood is minus infinity, and the derivatives 0, where the
// covariance is not positive definite in double.
struct Evidence {
  double log_likelihood = 0;
  double by_log_amplitude = 0, by_log_length = 0, by_log_noise = 0;
};
[[nodiscard]] Evidence evidence(const GpPoints& points, const GpHyper& hyper);

// The hyper-parameters of the most evidence (section 5.4), held by log-normal priors about
// GpHyper's values so that five points move them little: BFGS from there. Of more than
// kMostEvidence points, a sample of so many chooses.
inline constexpr std::size_t kMostEvidence = 400;
[[nodiscard]] GpHyper likely_hyper(const GpPoints& points);

class GaussianProcess {
 public:
  // At least one point.
  GaussianProcess(const GpPoints& points, const GpHyper& hyper);

  struct Answer {
    double mean = 0, variance = 0;  // of the function, without noise
  };
  // At a point, by its squared distances to each of the process'.
  [[nodiscard]] Answer predict(std::span<const double> squares) const;
  [[nodiscard]] const GpHyper& hyper() const { return hyper_; }

 private:
  GpHyper hyper_;
  std::vector<double> inverse_;  // of the covariance with noise, by pair of points
  std::vector<double> alpha_;    // inverse x targets
};

}  // namespace tilecast::search

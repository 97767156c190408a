// What a search believes about candidates it has not measured: log times with deviations, from a
// few that it has.
//
//   Surrogate surrogate(space, true);           // with physics
//   surrogate.fit(rows, log_times, seed);
//   surrogate.predict(candidates, means, deviations);
//
// kTrees boosted trees on bootstrap samples (learned/training/gbt_trainer.h): their mean and
// scatter. With physics also a Gaussian process (learned/gaussian_process.h; variance: Rasmussen
// and Williams 2006, eq. 2.26), and the two count alike: deviation^2 = mean of squares + variance
// of means. What they learn is log(measured) or log(measured / analytical): whichever gives the
// measured times more evidence under the process. Candidates that physics does not answer take the
// median answer, and a column says so. Internal to the tuner. Deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learned/gbt_model.h"
#include "learned/training/gp_trainer.h"
#include "search/tuner.h"

namespace tilecast::search {

class Surrogate {
 public:
  static constexpr std::size_t kTrees = 8;

  Surrogate(const TuneSpace& space, bool physics);

  // At least one row; the same candidate may stand twice.
  void fit(std::span<const std::size_t> rows, std::span<const double> log_times,
           std::uint64_t seed);
  void predict(std::span<const std::size_t> candidates, std::span<double> means,
               std::span<double> deviations) const;

  // Squared distance in columns scaled to a deviation of 1, per column.
  [[nodiscard]] double distance2(std::size_t a, std::size_t b) const;
  // How alike two candidates are, 0 ... 1: the process' covariance, of distance2 and its length.
  [[nodiscard]] double likeness(std::size_t a, std::size_t b) const;
  [[nodiscard]] bool on_residuals() const { return on_residuals_; }

 private:
  void fit_process(std::span<const double> targets);  // of rows_, with hyper_
  void fit_trees(std::span<const std::size_t> rows, std::span<const double> targets,
                 std::uint64_t seed);
  [[nodiscard]] learned::GpTable process_table(std::span<const std::size_t> rows,
                                               std::span<const double> targets) const;
  void predict_trees(std::span<const std::size_t> candidates, std::span<double> means,
                     std::span<double> variances) const;
  void predict_process(std::span<const std::size_t> candidates, std::span<double> means,
                       std::span<double> variances) const;

  bool physics_;
  std::size_t columns_ = 0;
  std::vector<float> raw_;     // candidates x columns_, NaN: missing; of the trees
  std::vector<float> scaled_;  // the same, scaled and whole; of the process
  std::vector<double> base_;   // log analytical, by candidate; empty: no physics answers
  bool on_residuals_ = false;
  double mean_ = 0, deviation_ = 1;  // of the targets fitted
  std::vector<learned::GbtModel> trees_;
  learned::GpHyper hyper_;
  std::vector<std::size_t> rows_;  // fitted
  std::vector<double> inverse_;    // rows x rows, of the covariance with noise
  std::vector<double> alpha_;
};

}  // namespace tilecast::search

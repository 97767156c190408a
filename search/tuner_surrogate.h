// Surrogate model of a search: predicts log times and their standard deviations for unmeasured
// candidates from a few measured ones.
//
//   Surrogate surrogate(space, true);           // with physics
//   surrogate.fit(rows, log_times, seed);
//   surrogate.predict(candidates, means, deviations);
//
// With physics (ALCOP, MLSys 2023, section IV-C): boosted trees are pretrained on the analytical
// times of all candidates and continued on the measured ones (the pretrained trees' predictions are
// the base margin of the new trees). The trust in physics is the slope of measured over analytical
// log times, with a prior at 1, so that wrong physics fades out. The continuation is learned in two
// ways: by kTrees ensembles on bootstrap samples (learned/training/gbt_trainer.h), which give a
// mean and a scatter, and by a Gaussian process (search/gaussian_process.h). Both have equal
// weight: deviation^2 = mean of squares + variance of means.
//
// The trees use a candidate's features and all its analytical terms; the process, which weights all
// columns equally, uses only the analytical time. Candidates without an analytical time get the
// median one, marked in a column. Without physics only the trees are used. Internal to the tuner.
// Deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "learned/gbt_model.h"
#include "search/gaussian_process.h"
#include "search/tuner.h"

namespace tilecast::search {

class Surrogate {
 public:
  static constexpr std::size_t kTrees = 8;

  Surrogate(const TuneSpace& space, bool physics);

  // Requires at least one row; a candidate may occur twice.
  void fit(std::span<const std::size_t> rows, std::span<const double> log_times,
           std::uint64_t seed);
  void predict(std::span<const std::size_t> candidates, std::span<double> means,
               std::span<double> deviations) const;

  // Squared distance over columns scaled to unit deviation, divided by the number of columns.
  [[nodiscard]] double distance2(std::size_t a, std::size_t b) const;
  // Similarity of two candidates, 0 ... 1: the process' correlation at their distance.
  [[nodiscard]] double likeness(std::size_t a, std::size_t b) const;
  // Trust in physics, set by fit(): 0 none, 1 full.
  [[nodiscard]] double trust() const { return trust_; }

 private:
  void fit_process(std::span<const double> targets);  // targets of rows_
  void fit_trees(std::span<const std::size_t> rows, std::span<const double> targets,
                 std::uint64_t seed);
  [[nodiscard]] std::vector<double> squares_to(std::size_t candidate) const;  // from rows_
  void predict_trees(std::span<const std::size_t> candidates, std::span<double> means,
                     std::span<double> variances) const;
  void predict_process(std::span<const std::size_t> candidates, std::span<double> means,
                       std::span<double> variances) const;

  void pretrain();
  [[nodiscard]] double trust(std::span<const std::size_t> rows,
                             std::span<const double> log_times) const;

  bool physics_;
  std::size_t columns_ = 0, process_columns_ = 0;
  std::vector<float> raw_;     // candidates x columns_, NaN: missing; for the trees
  std::vector<float> scaled_;  // candidates x process_columns_, scaled, complete; for the process
  std::vector<double> prior_;  // log seconds by candidate, from the pretrained trees; may be empty
  double trust_ = 0;
  double mean_ = 0, deviation_ = 1;  // of the fitted targets
  std::vector<learned::GbtModel> trees_;
  std::vector<std::size_t> rows_;           // fitted candidates
  std::optional<GaussianProcess> process_;  // set by fit(), with physics only
};

}  // namespace tilecast::search

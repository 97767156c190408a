// What a search believes about candidates it has not measured: log times with deviations, from a
// few that it has.
//
//   Surrogate surrogate(space, true);           // with physics
//   surrogate.fit(rows, log_times, seed);
//   surrogate.predict(candidates, means, deviations);
//
// With physics (ALCOP, MLSys 2023, section IV-C): boosted trees are pretrained on its times of all
// candidates, and what is measured continues them (XGBoost adds trees to what it has; equally, the
// pretrained ones' answers are the margin of the new). How far physics' differences are believed is
// the slope of the measured log times over them, held near 1: physics that turns out wrong fades.
// The continuation is learned kTrees times, on bootstrap samples (learned/training/gbt_trainer.h):
// mean and scatter; and by a Gaussian process (search/gaussian_process.h). The two count alike:
// deviation^2 = mean of squares + variance of means.
//
// Trees see how a candidate is written and what physics says of it, term by term; the process, to
// which all columns are alike, only its time. Candidates that physics does not answer take the
// median answer, and a column says so. Without physics: trees alone. Internal to the tuner.
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

  // At least one row; the same candidate may stand twice.
  void fit(std::span<const std::size_t> rows, std::span<const double> log_times,
           std::uint64_t seed);
  void predict(std::span<const std::size_t> candidates, std::span<double> means,
               std::span<double> deviations) const;

  // Squared distance in columns scaled to a deviation of 1, per column.
  [[nodiscard]] double distance2(std::size_t a, std::size_t b) const;
  // How alike two candidates are, 0 ... 1: the process' covariance, of distance2 and its length.
  [[nodiscard]] double likeness(std::size_t a, std::size_t b) const;
  // Of physics, since fit(): 0 none, 1 whole.
  [[nodiscard]] double trust() const { return trust_; }

 private:
  void fit_process(std::span<const double> targets);  // of rows_
  void fit_trees(std::span<const std::size_t> rows, std::span<const double> targets,
                 std::uint64_t seed);
  [[nodiscard]] std::vector<double> squares_to(std::size_t candidate) const;  // from each of rows_
  void predict_trees(std::span<const std::size_t> candidates, std::span<double> means,
                     std::span<double> variances) const;
  void predict_process(std::span<const std::size_t> candidates, std::span<double> means,
                       std::span<double> variances) const;

  void pretrain();
  [[nodiscard]] double trust(std::span<const std::size_t> rows,
                             std::span<const double> log_times) const;

  bool physics_;
  std::size_t columns_ = 0, process_columns_ = 0;
  std::vector<float> raw_;     // candidates x columns_, NaN: missing; of the trees
  std::vector<float> scaled_;  // candidates x process_columns_, scaled and whole; of the process
  std::vector<double> prior_;  // log seconds by candidate, of the pretrained trees; or empty
  double trust_ = 0;
  double mean_ = 0, deviation_ = 1;  // of the targets fitted
  std::vector<learned::GbtModel> trees_;
  std::vector<std::size_t> rows_;           // fitted
  std::optional<GaussianProcess> process_;  // with physics, since fit()
};

}  // namespace tilecast::search

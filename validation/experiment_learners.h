// The learned columns of an experiment: trained on the fitted rows of a round, asked for the
// scored.
//
//   LearnedColumns columns(prior, experiment, loaded, jobs);       once: kernels, and what physics
//   says LearnedAnswer answer = columns.run(learner, split, round);
//
// Rows of programs are neither learned from nor answered. Thread-safe, deterministic; `loaded` must
// outlive it.
#pragma once

#include <optional>

#include "measured/splits.h"
#include "validation/experiment_load.h"

namespace tilecast::validation {

struct LearnedAnswer {
  LearnedRound round;
  // By scored row: seconds, comparable to the measured ones; of learners that only rank, positive
  // numbers in the order of their scores.
  std::vector<std::optional<double>> predicted_s;
};

class LearnedColumns {
 public:
  // `prior` must outlive it. The learners have one quantity as their target.
  LearnedColumns(const analytical::CostModel& prior, const Experiment& experiment,
                 const LoadedSets& loaded, int jobs);

  // The seed of round i is the learner's + i. One thread. Throws Error that names the learner.
  [[nodiscard]] LearnedAnswer run(const learned::LearnerSpec& learner, const measured::Split& split,
                                  std::size_t round) const;

  // The examples among these rows, and what a predictor says of rows.
  [[nodiscard]] learned::Examples examples(std::span<const std::size_t> rows) const;
  [[nodiscard]] std::vector<std::optional<double>> predict(const learned::Predictor& predictor,
                                                           std::span<const std::size_t> rows) const;

  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  [[nodiscard]] double comparable_s(const learned::Predictor& predictor, std::size_t example,
                                    double out) const;

  const LoadedSets& loaded_;
  learned::Examples all_;
  std::vector<std::optional<std::size_t>> example_of_;  // by row of rows_of
};

}  // namespace tilecast::validation

// Learners on the rows of a file: trained on the fitted rows of a round, asked for the scored.
//
//   LearnedRows rows(prior, file, loaded, jobs);       once: kernels, and what physics says
//   LearnedAnswer answer = rows.run(learner, split, round);
//
// Rows of programs are neither learned from nor answered. Thread-safe, deterministic; `loaded` must
// outlive it.
#pragma once

#include <optional>

#include "measured/splits.h"
#include "sim/training/rows.h"

namespace tilecast::sim::training {

// What one learner learned from in a round.
struct LearnedRound {
  std::string learner;
  std::size_t train_rows = 0, validation_rows = 0;  // of the fitted rows
  std::optional<double> fitted_log_l1 = {};  // measured::log_l1 of the training rows, of times
  std::vector<std::string> chosen = {};      // by a search: "depth 6", of each parameter it drew
};

struct LearnedAnswer {
  LearnedRound round;
  // By scored row: seconds, comparable to the measured ones; of learners that only rank, positive
  // numbers in the order of their scores.
  std::vector<std::optional<double>> predicted_s;
};

class LearnedRows {
 public:
  // `prior` must outlive it. The learners have one quantity as their target.
  LearnedRows(const analytical::CostModel& prior, const TrainingFile& file,
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
  [[nodiscard]] std::optional<double> fitted_log_l1(const learned::Trained& trained,
                                                    std::span<const std::size_t> rows) const;
  [[nodiscard]] std::vector<std::size_t> examples_of(std::span<const std::size_t> rows) const;
  [[nodiscard]] double comparable_s(const learned::Predictor& predictor, std::size_t example,
                                    double out) const;

  const LoadedSets& loaded_;
  learned::Examples all_;
  std::vector<std::optional<std::size_t>> example_of_;  // by row of rows_of
};

}  // namespace tilecast::sim::training

// Trains learners on the fitted rows of a round, and predicts the scored rows.
//
//   LearnedRows rows(prior, file, loaded, jobs);       once: kernels and analytical estimates
//   LearnedAnswer answer = rows.run(learner, split, round);
//
// Rows of whole programs are neither trained on nor predicted. Thread-safe, deterministic; `loaded`
// must outlive it.
#pragma once

#include <optional>

#include "measured/splits.h"
#include "sim/training/rows.h"

namespace tilecast::sim::training {

// The training of one learner in a round.
struct LearnedRound {
  std::string learner;
  std::size_t train_rows = 0, validation_rows = 0;  // parts of the fitted rows
  std::optional<double> fitted_log_l1 = {};  // measured::log_l1 of training rows; only for times
  std::vector<std::string> chosen = {};      // by a search: "depth 6", per searched parameter
};

struct LearnedAnswer {
  LearnedRound round;
  // Per scored row: seconds, comparable to the measured ones; for learners that only rank, positive
  // numbers in the order of their scores.
  std::vector<std::optional<double>> predicted_s;
};

class LearnedRows {
 public:
  // `prior` must outlive it. All learners have the same target quantity.
  LearnedRows(const analytical::CostModel& prior, const TrainingFile& file,
              const LoadedSets& loaded, int jobs);

  // Round i uses the learner's seed + i. Single-threaded. Throws Error that names the learner.
  [[nodiscard]] LearnedAnswer run(const learned::LearnerSpec& learner, const measured::Split& split,
                                  std::size_t round) const;

  // The examples of these rows, and a predictor's predictions for rows.
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
  std::vector<std::optional<std::size_t>> example_of_;  // by row of rows_of()
};

}  // namespace tilecast::sim::training

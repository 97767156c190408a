// Trains learners on the fitted rows of a round, and predicts the scored rows.
//
//   LearnedRows rows(prior, file, loaded, jobs);       once: kernels and analytical estimates
//   LearnedAnswer answer = rows.run(learner, split, round);
//
// Rows of whole programs are neither trained on nor predicted. Thread-safe, deterministic; `loaded`
// must outlive it.
#pragma once

#include <optional>

#include "hybrid/hybrid_fit.h"
#include "learned/training/quantity_report.h"
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

// Trains one learner, or fits one hybrid, of a file on the first round of its split; implements
// `tilecast train`.
//
//   Training training(prior, file, data, "sage", jobs);
//   TrainingResult result = training.run({.step = ...});
//   result.save("models/sage", false);
//
// The held-out rows are the scored rows of the round; the fit does not use them. Except for the
// measured seconds, the result does not depend on `jobs`.

// Fits a hybrid to these rows.
[[nodiscard]] hybrid::FittedHybrid fit_rows(const analytical::CostModel& prior,
                                            const hybrid::HybridSpec& spec,
                                            const LoadedSets& loaded,
                                            std::span<const std::size_t> rows,
                                            const hybrid::HybridOptions& options);

struct TrainingResult {
  learned::ModelCard card;  // data, metrics on the held-out rows; the model's own card
  double seconds = 0;
  measured::Stratum scores;  // of all held-out rows: roofline, analytical and the model
  // For a target other than time, instead: mean and median of the training rows, and the learner.
  std::optional<learned::QuantityReport> quantity = {};
  std::optional<hybrid::TrialReport> trials = {};  // for a hybrid
  std::vector<std::string> notes = {};

  void save(const std::string& directory, bool force) const;

  // One of the two is set.
  std::optional<learned::Trained> learner = {};
  std::unique_ptr<hybrid::HybridModel> hybrid = {};  // refers to the training's prior
};

struct Steps {
  learned::LearnerHooks learner = {};
  std::function<void(const std::string&, double)> hybrid = {};
};

class Training {
 public:
  // `name`: a learner or hybrid; may be empty if there is only one. Throws Error that lists the
  // available names. `prior` must outlive it and its results.
  Training(const analytical::CostModel& prior, const TrainingFile& file, ImportedData& data,
           const std::string& name, int jobs);
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  // The learner to train; null if a hybrid is fitted.
  [[nodiscard]] const learned::LearnerSpec* learner() const {
    return file_.learners.empty() ? nullptr : &file_.learners.front();
  }
  [[nodiscard]] const hybrid::HybridSpec& hybrid() const { return file_.hybrids.front(); }
  [[nodiscard]] const std::string& name() const {
    return learner() != nullptr ? learner()->name : hybrid().name;
  }
  [[nodiscard]] const TrainingFile& file() const { return file_; }     // reduced to what is trained
  [[nodiscard]] std::vector<std::string> columns() const;              // columns of the scores
  [[nodiscard]] std::size_t rounds() const { return rounds_.size(); }  // rounds of the split
  // Rows per set and side. For a hybrid, whole programs are excluded from the fitted rows.
  [[nodiscard]] std::vector<learned::ModelData> rows() const;
  [[nodiscard]] TrainingResult run(const Steps& steps) const;

 private:
  [[nodiscard]] const measured::Split& split() const { return rounds_.front().split; }
  [[nodiscard]] std::vector<learned::ModelData> rows(const learned::Examples& examples,
                                                     const learned::TrainValidation& sides) const;
  [[nodiscard]] TrainingResult train(const learned::LearnerHooks& hooks) const;
  [[nodiscard]] TrainingResult fit(const Steps& steps) const;
  void score(const RowAnswers& answers, TrainingResult& result) const;
  void score_quantity(const learned::Examples& fitted, TrainingResult& result) const;
  void note_unknown_tokens(TrainingResult& result) const;

  const analytical::CostModel& prior_;
  TrainingFile file_;
  LoadedSets loaded_;
  std::vector<NamedSplit> rounds_;
  std::optional<LearnedRows> learned_;  // if a learner is trained
  int jobs_;
};

}  // namespace tilecast::sim::training

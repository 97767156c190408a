// Trains one learner, or fits one hybrid, of a file on the first round of its split; implements
// `tilecast train`.
//
//   Training training(prior, file, data, "sage", jobs);
//   TrainingResult result = training.run({.step = ...});
//   result.save("models/sage", false);
//
// The held-out rows are the scored rows of the round; the fit does not use them. Except for the
// measured seconds, the result does not depend on `jobs`.
#pragma once

#include "hybrid/hybrid_fit.h"
#include "learned/training/quantity_report.h"
#include "sim/training/learned_rows.h"
#include "sim/training/splits.h"

namespace tilecast::sim::training {

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

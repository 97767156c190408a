// Trains one learner, or fits one hybrid, of a file on the first round of its split: what `tilecast
// train` does.
//
//   Training training(prior, file, data, "sage", jobs);
//   TrainingResult result = training.run({.step = ...});
//   result.save("models/sage", false);
//
// The held-out rows are those the round scores; the fit sees none of them. Deterministic whatever
// `jobs`, but for the seconds.
#pragma once

#include "hybrid/hybrid_fit.h"
#include "learned/training/quantity_report.h"
#include "sim/training/learned_rows.h"
#include "sim/training/splits.h"

namespace tilecast::sim::training {

// The hybrid of these rows.
[[nodiscard]] hybrid::FittedHybrid fit_rows(const analytical::CostModel& prior,
                                            const hybrid::HybridSpec& spec,
                                            const LoadedSets& loaded,
                                            std::span<const std::size_t> rows,
                                            const hybrid::HybridOptions& options);

struct TrainingResult {
  learned::ModelCard card;  // data, metrics on the held-out rows; what the model says of itself
  double seconds = 0;
  measured::Stratum scores;  // of all held-out rows; roofline, analytical and the model
  // Instead, of a target that is no time: the mean and median of the training rows, and the
  // learner.
  std::optional<learned::QuantityReport> quantity = {};
  std::optional<hybrid::TrialReport> trials = {};  // of a hybrid
  std::vector<std::string> notes = {};

  void save(const std::string& directory, bool force) const;

  // One of them.
  std::optional<learned::Trained> learner = {};
  std::unique_ptr<hybrid::HybridModel> hybrid = {};  // of the training's prior
};

struct Steps {
  learned::LearnerHooks learner = {};
  std::function<void(const std::string&, double)> hybrid = {};
};

class Training {
 public:
  // `name`: of a learner or hybrid; may be empty when there is one. Throws Error naming those there
  // are. `prior` must outlive it and its results.
  Training(const analytical::CostModel& prior, const TrainingFile& file, ImportedData& data,
           const std::string& name, int jobs);
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  // What is trained: a learner, or else a hybrid.
  [[nodiscard]] const learned::LearnerSpec* learner() const {
    return file_.learners.empty() ? nullptr : &file_.learners.front();
  }
  [[nodiscard]] const hybrid::HybridSpec& hybrid() const { return file_.hybrids.front(); }
  [[nodiscard]] const std::string& name() const {
    return learner() != nullptr ? learner()->name : hybrid().name;
  }
  [[nodiscard]] const TrainingFile& file() const { return file_; }     // of it alone
  [[nodiscard]] std::vector<std::string> columns() const;              // of the scores
  [[nodiscard]] std::size_t rounds() const { return rounds_.size(); }  // of the split
  // Rows per set and side, as the training will have them; programs among those that a hybrid is
  // fitted to are excluded from the fit.
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
  std::optional<LearnedRows> learned_;  // of a learner
  int jobs_;
};

}  // namespace tilecast::sim::training

// Trains one learner of an experiment on the first round of its split: what `tilecast train` does.
//
//   Training training(experiment, data, "sage", jobs);
//   TrainingResult result = training.run(hooks);
//   result.trained.save(result.about, "models/sage", false);
//
// The held-out rows are those the round scores; the learner sees none of them.
#pragma once

#include "learned/training/quantity_report.h"
#include "validation/experiment_learners.h"
#include "validation/experiment_splits.h"

namespace tilecast::validation {

// The experiment with this column beside what needs no fit, and no bars: what one training is
// about.
[[nodiscard]] Experiment with_column_alone(Experiment experiment, const std::string& column);
// One entry per set, without rows yet.
[[nodiscard]] std::vector<learned::ModelData> model_data(const LoadedSets& loaded);
// Scores of the held-out rows, last column beside analytical, into the card; what was not answered
// into the notes.
[[nodiscard]] measured::Stratum score_held_out(const Experiment& experiment,
                                               const measured::ScoreSheet& sheet, int jobs,
                                               learned::ModelCard& card,
                                               std::vector<std::string>& notes);

struct TrainingResult {
  learned::Trained trained;
  learned::ModelCard about;    // data, split, metrics on the held-out rows
  measured::ScoreSheet sheet;  // the held-out rows; roofline, analytical and the learner
  measured::Stratum scores;    // of all of them
  // Instead, of a target that is no time: the mean and median of the training rows, and the
  // learner.
  std::optional<learned::QuantityReport> quantity;
  std::vector<std::string> notes;
};

class Training {
 public:
  // `learner`: may be empty when there is one. Throws Error naming those there are. `prior` must
  // outlive it.
  Training(const analytical::CostModel& prior, const Experiment& experiment, ExperimentData& data,
           const std::string& learner, int jobs);
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  [[nodiscard]] const learned::LearnerSpec& learner() const { return experiment_.learners.front(); }
  [[nodiscard]] const Experiment& experiment() const { return experiment_; }  // of it alone
  [[nodiscard]] std::size_t rounds() const { return rounds_.size(); }         // of the split
  // Rows per set and side, as the training will have them.
  [[nodiscard]] std::vector<learned::ModelData> rows() const;
  [[nodiscard]] TrainingResult run(const learned::LearnerHooks& hooks) const;

 private:
  [[nodiscard]] const measured::Split& split() const { return rounds_.front().split; }
  [[nodiscard]] std::vector<learned::ModelData> rows(const learned::Examples& examples,
                                                     const learned::TrainValidation& sides) const;
  void evaluate(TrainingResult& result) const;
  void note_unknown_tokens(TrainingResult& result) const;
  void evaluate_quantity(const learned::Examples& fitted, TrainingResult& result) const;

  Experiment experiment_;
  LoadedSets loaded_;
  std::vector<NamedSplit> rounds_;
  LearnedColumns columns_;
  int jobs_;
};

}  // namespace tilecast::validation

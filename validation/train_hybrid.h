// Fits one hybrid of an experiment on the first round of its split: what `tilecast train` does with
// the name of a hybrid (validation/experiment_train.h is the same for learners).
//
//   HybridTraining training(experiment, data, "hybrid", jobs);
//   HybridTrainingResult result = training.run(step);
//   save_hybrid(result.card, result.model->parts(), "models/mine");
//
// The held-out rows are those the round scores; the fit sees none of them. Deterministic whatever
// `jobs`, but for the seconds.
#pragma once

#include "analytical/cost_model.h"
#include "hybrid/hybrid_fit.h"
#include "validation/experiment_load.h"
#include "validation/experiment_splits.h"

namespace tilecast::validation {

struct HybridTrainingResult {
  std::unique_ptr<hybrid::HybridModel> model = nullptr;  // of the training's prior
  learned::ModelCard card;  // data, settings, metrics on the held-out rows
  hybrid::TrialReport report;
  measured::Stratum scores;  // of all held-out rows; roofline, analytical and the hybrid
  std::vector<std::string> notes;
};

class HybridTraining {
 public:
  // Throws Error naming the hybrids there are. `prior` must outlive it and its results.
  HybridTraining(const analytical::CostModel& prior, const Experiment& experiment,
                 ExperimentData& data, const std::string& hybrid, int jobs);
  HybridTraining(const HybridTraining&) = delete;
  HybridTraining& operator=(const HybridTraining&) = delete;

  [[nodiscard]] const hybrid::HybridSpec& spec() const { return experiment_.hybrids.front(); }
  [[nodiscard]] const Experiment& experiment() const { return experiment_; }  // of it alone
  [[nodiscard]] std::size_t rounds() const { return rounds_.size(); }         // of the split
  // Rows per set and side; programs among those fitted are excluded from the fit.
  [[nodiscard]] std::vector<learned::ModelData> rows() const;
  [[nodiscard]] HybridTrainingResult run(
      const std::function<void(const std::string&, double)>& step) const;

 private:
  [[nodiscard]] const measured::Split& split() const { return rounds_.front().split; }
  [[nodiscard]] measured::ScoreSheet answers(const hybrid::HybridModel& model) const;

  const analytical::CostModel& prior_;
  Experiment experiment_;
  LoadedSets loaded_;
  std::vector<NamedSplit> rounds_;
  int jobs_;
};

}  // namespace tilecast::validation

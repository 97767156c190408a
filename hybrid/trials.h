// Trials of learners on rows they have not seen (hybrid/trust.h), and the choice among learners.
// Internal to hybrid_fit.cpp.
#pragma once

#include <string>
#include <vector>

#include "hybrid/hybrid_fit.h"
#include "measured/splits.h"

namespace tilecast::hybrid {

// Rows that physics answers, and what groups them.
struct TrialRows {
  learned::Examples examples;
  std::vector<Work> works = {};                                          // by row
  std::vector<std::string> by_group = {}, by_kind = {}, by_device = {};  // keys by row
  std::vector<std::string> names = {};                          // of works, by kernel number
  learned::ValidateBy trial_by = learned::ValidateBy::kKernel;  // what by_group groups

  [[nodiscard]] double residual(std::size_t row) const;  // log(measured / analytical)
};
[[nodiscard]] TrialRows trial_rows(const analytical::CostModel& prior,
                                   std::span<const measured::SampleSet> sets,
                                   std::span<const hwdesc::Device> devices,
                                   std::optional<learned::ValidateBy> trial_by, int jobs);

// Which rows each trial fits and predicts.
struct TrialPlan {
  std::vector<measured::Split> base, by_kind, by_device;
};
// by_kind: with at least 3 kinds; by_device: with at least 2.
[[nodiscard]] TrialPlan plan_trials(const TrialRows& rows, std::size_t folds, std::uint64_t seed);

// Residuals of all rows, by learners that did not see their group; rows in no split: 0.
[[nodiscard]] std::vector<double> predict_trials(const learned::LearnerSpec& learner,
                                                 const TrialRows& rows,
                                                 std::span<const measured::Split> splits, int jobs);
// `predicted` by row. `machines`: those of the fit rows are compared with those of the scored ones,
// which were left out whole (hybrid/machines.h).
enum class Machines { kFitted, kLeftOut };
[[nodiscard]] std::vector<Trial> trials_of(const analytical::CostModel& prior,
                                           const TrialRows& rows,
                                           std::span<const measured::Split> splits,
                                           const std::vector<std::string>& keys,
                                           std::span<const double> predicted, Machines machines);

// |log error| of a row's whole time where the kernel is `share` of it.
[[nodiscard]] double whole_error(double residual, double predicted, double share);

// Mean errors with every group counting alike, and the standard errors of the differences to the
// least; `predicted` by candidate and row. The choice: the first within one standard error.
struct Choice {
  std::vector<CandidateScore> scores;  // by candidate; names empty
  std::size_t chosen = 0;
  double least = 0;  // error
};
[[nodiscard]] Choice choose_candidate(const TrialRows& rows,
                                      std::span<const std::vector<double>> predicted);

}  // namespace tilecast::hybrid

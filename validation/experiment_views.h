// Results of experiments as text or as JSON, schema "tilecast.validate/1": experiments[] of name,
// claim, sets[], split, fit[], rounds[], columns[], metrics[], scores[], bars[], notes[], and, if
// not empty, learners[], hybrids[], published[], directions[]; skipped[]. Text shows %, JSON
// fractions; scripts/accuracy_tables generates the tables of README and docs from the JSON. Pure.
#pragma once

#include <span>
#include <string>

#include "validation/experiment_run.h"

namespace tilecast::validation {

struct SkippedExperiment {
  std::string name, why;
};

[[nodiscard]] std::string experiment_text(const ExperimentResult& result);
// One entry of experiments[]; and the document with all entries.
[[nodiscard]] std::string experiment_json(const ExperimentResult& result);
[[nodiscard]] std::string experiments_json(std::span<const std::string> experiments,
                                           std::span<const SkippedExperiment> skipped);

// Parts of both: the result of a bar or finding, without the verdict.
[[nodiscard]] std::string bar_text(const BarResult& result);
[[nodiscard]] std::string direction_text(const DirectionResult& result);
// Rows fitted and scored, and the composition of every learner and hybrid; the rounds that were
// refused and the changes of the others, in one line if there are many.
[[nodiscard]] std::vector<std::string> fit_lines(const ExperimentResult& result);
[[nodiscard]] std::string_view name(DirectionResult::Verdict verdict);

// One row per published figure: model, metric, ours, n, seeds, theirs, source.
[[nodiscard]] std::vector<std::vector<std::string>> published_rows(const ExperimentResult& result);

}  // namespace tilecast::validation

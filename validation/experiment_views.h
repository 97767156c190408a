// What experiments found, as text or as JSON, schema "tilecast.validate/1": experiments[] of name,
// claim, sets[], split, fit[], rounds[], columns[], metrics[], scores[], bars[], notes[], and where
// there are any learners[], hybrids[], published[], directions[]; skipped[]. Text shows %, JSON
// fractions; scripts/accuracy_tables makes the tables of README and docs from JSON. Pure.
#pragma once

#include <span>
#include <string>

#include "validation/experiment_run.h"

namespace tilecast::validation {

struct SkippedExperiment {
  std::string name, why;
};

[[nodiscard]] std::string experiment_text(const ExperimentResult& result);
// One of experiments[]; and the document of those.
[[nodiscard]] std::string experiment_json(const ExperimentResult& result);
[[nodiscard]] std::string experiments_json(std::span<const std::string> experiments,
                                           std::span<const SkippedExperiment> skipped);

// Parts of both. What was found, without the verdict.
[[nodiscard]] std::string bar_text(const BarResult& result);
[[nodiscard]] std::string direction_text(const DirectionResult& result);
// Rows fitted and scored, and what every learner and hybrid was made of; which rounds were refused
// and what the others changed, in one line when there are many.
[[nodiscard]] std::vector<std::string> fit_lines(const ExperimentResult& result);
[[nodiscard]] std::string_view name(DirectionResult::Verdict verdict);

// One row per published figure: model, metric, ours, n, seeds, theirs, where it stands.
[[nodiscard]] std::vector<std::vector<std::string>> published_rows(const ExperimentResult& result);

}  // namespace tilecast::validation

// What experiments found, as text or as JSON, schema "tilecast.validate/1": experiments[] of name,
// claim, sets[], split, fit[], rounds[], columns[], metrics[], scores[], bars[], notes[], and where
// there are any learners[], hybrids[], published[], directions[]; skipped[]. Text shows %, JSON
// fractions; scripts/accuracy_tables makes the tables of README and docs from JSON. Pure.
#pragma once

#include <span>
#include <string>

#include "validation/experiment_run.h"

namespace tilecast::sim::views {

struct SkippedExperiment {
  std::string name, why;
};

[[nodiscard]] std::string experiment_text(const validation::ExperimentResult& result);
// One of experiments[]; and the document of those.
[[nodiscard]] std::string experiment_json(const validation::ExperimentResult& result);
[[nodiscard]] std::string experiments_json(std::span<const std::string> experiments,
                                           std::span<const SkippedExperiment> skipped);

// "5 folds by kernel, pooled", "20 x 10 random rows of one kernel fitted, the rest scored".
[[nodiscard]] std::string split_text(const validation::SplitSpec& split);

// Parts of them. "8.1 [7.2, 9.0]"; with seeds "8.1 (worst 9.3)", and the interval where there is
// one.
[[nodiscard]] std::string experiment_cell(measured::Metric metric, const validation::Cell& cell);
// What was found, without the verdict.
[[nodiscard]] std::string bar_text(const validation::BarResult& result);
[[nodiscard]] std::string direction_text(const validation::DirectionResult& result);
// Rows fitted and scored, and what every learner and hybrid was made of; which rounds were refused
// and what the others changed, in one line when there are many.
[[nodiscard]] std::vector<std::string> fit_lines(const validation::ExperimentResult& result);
[[nodiscard]] std::string_view name(validation::DirectionResult::Verdict verdict);

// One row per published figure: model, metric, ours, n, seeds, theirs, where it stands.
[[nodiscard]] std::vector<std::vector<std::string>> published_rows(
    const validation::ExperimentResult& result);

}  // namespace tilecast::sim::views

// What experiments found, as text, as Markdown (the README's tables) or as JSON, schema
// "tilecast.validate/1": experiments[] of name, claim, sets[], split, rounds[], scores[], bars[],
// notes[], and where there are any learners[], published[], directions[]; skipped[]. Text and
// Markdown show %, JSON fractions. Pure.
#pragma once

#include <span>
#include <string>

#include "validation/experiment_run.h"

namespace tilecast::sim::views {

struct SkippedExperiment {
  std::string name, why;
};

[[nodiscard]] std::string experiment_text(const validation::ExperimentResult& result);
[[nodiscard]] std::string experiment_markdown(const validation::ExperimentResult& result);
[[nodiscard]] std::string experiments_json(std::span<const validation::ExperimentResult> results,
                                           std::span<const SkippedExperiment> skipped);

// One Markdown table: MAPE (and median APE) in % of every experiment as a whole, of its sets where
// it has several, and of the strata its bars are about. Experiments with learners, and those with
// hybrids, have tables of their own, one line per column.
[[nodiscard]] std::string experiments_summary(
    std::span<const validation::ExperimentResult> results);

// "5 folds by kernel, pooled", "20 x 10 random rows of one kernel fitted, the rest scored".
[[nodiscard]] std::string split_text(const validation::SplitSpec& split);

}  // namespace tilecast::sim::views

// Scored rows of an experiment -> its table, and the verdicts on its bars and on others' findings.
#pragma once

#include <span>
#include <vector>

#include "validation/experiment_run.h"

namespace tilecast::validation {

[[nodiscard]] bool more_is_better(measured::Metric metric);  // else less is

// One sheet: values with intervals. Several (one per seed): means and worsts.
[[nodiscard]] std::vector<ResultStratum> score_strata(const Experiment& experiment,
                                                      std::span<const measured::ScoreSheet> sheets,
                                                      int jobs);

// Throws Error for a bar on an unknown stratum.
[[nodiscard]] std::vector<BarResult> check_bars(const Experiment& experiment,
                                                std::span<const ResultStratum> strata);
// Others' findings against ours over seeds. Throws Error for an unknown stratum.
[[nodiscard]] std::vector<DirectionResult> check_directions(const Experiment& experiment,
                                                            std::span<const ResultStratum> strata);

// Scales `column` of the rows: what physics says, times one coefficient per op class, the baseline
// of Kaufman et al., MLSys 2021, section 5.2: coefficients follow from the programs that are scored
// themselves, run once in their default configuration. A class's coefficient is the sum of the
// measured times of its default rows over the sum of the predicted ones; of a class without any,
// that of all default rows together; without those, 1. Returns "convolution x 1.20 (17 rows)" by
// class, and what holds for the others.
[[nodiscard]] std::vector<std::string> scale_by_class(
    const std::vector<measured::ScoredWorkload>& works, const std::vector<bool>& is_default,
    std::size_t column, std::vector<measured::ScoredRow>& rows);

// 95 % interval of the mean; nothing with fewer than three values.
[[nodiscard]] std::optional<measured::Interval> t_interval(std::span<const double> values);

}  // namespace tilecast::validation

// Scores an experiment's rows and checks its bars and published findings.
#pragma once

#include <span>
#include <vector>

#include "validation/experiment_run.h"

namespace tilecast::validation {

[[nodiscard]] bool more_is_better(measured::Metric metric);  // else less is

// One sheet: values with intervals. Several sheets (one per seed): mean and worst.
[[nodiscard]] std::vector<ResultStratum> score_strata(const Experiment& experiment,
                                                      std::span<const measured::ScoreSheet> sheets,
                                                      int jobs);

// Throws Error for a bar on an unknown stratum.
[[nodiscard]] std::vector<BarResult> check_bars(const Experiment& experiment,
                                                std::span<const ResultStratum> strata);
// Compares published findings with ours over seeds. Throws Error for an unknown stratum.
[[nodiscard]] std::vector<DirectionResult> check_directions(const Experiment& experiment,
                                                            std::span<const ResultStratum> strata);

// Sets `column` of the rows to the analytical time multiplied by one coefficient per op class, the
// baseline of Kaufman et al., MLSys 2021, section 5.2: coefficients are computed from the scored
// programs themselves, in their default configuration. A class's coefficient is the sum of the
// measured times of its default rows divided by the sum of the predicted ones; for a class without
// default rows, it is that of all default rows together; without any, 1. Returns "convolution x
// 1.20 (17 rows)" per class, and the value for the other classes.
[[nodiscard]] std::vector<std::string> scale_by_class(
    const std::vector<measured::ScoredWorkload>& works, const std::vector<bool>& is_default,
    std::size_t column, std::vector<measured::ScoredRow>& rows);

// 95 % interval of the mean; nullopt with fewer than three values.
[[nodiscard]] std::optional<measured::Interval> t_interval(std::span<const double> values);

}  // namespace tilecast::validation

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

// 95 % interval of the mean; nothing with fewer than three values.
[[nodiscard]] std::optional<measured::Interval> t_interval(std::span<const double> values);

}  // namespace tilecast::validation

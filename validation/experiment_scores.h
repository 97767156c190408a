// Scored rows of an experiment -> its table and the verdict on its bars.
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

// Throws Error for a bar on a stratum that is not there.
[[nodiscard]] std::vector<BarResult> check_bars(const Experiment& experiment,
                                                std::span<const ResultStratum> strata);

}  // namespace tilecast::validation

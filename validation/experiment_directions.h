// Others' findings against our table: does the better column win over seeds?
#pragma once

#include <span>
#include <vector>

#include "validation/experiment_run.h"

namespace tilecast::validation {

// The mean of at least three values, 95 % (Student's t); else nullopt.
[[nodiscard]] std::optional<measured::Interval> t_interval(std::span<const double> values);

// Differences are paired: both columns of one seed. Throws Error for a stratum that is not there.
[[nodiscard]] std::vector<DirectionResult> check_directions(const Experiment& experiment,
                                                            std::span<const ResultStratum> strata);

}  // namespace tilecast::validation

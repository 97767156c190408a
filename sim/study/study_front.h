// The objectives by which a front is asked for, by name.
//
//   pareto_rows(study, table, front_objectives(study, "time_s,-peak_tflops", false));
#pragma once

#include <string>
#include <vector>

#include "sim/study/study_table.h"

namespace tilecast::sim {

// Of "COLUMN,COLUMN"; a minus before one: larger is better. Unchecked (check_objective).
[[nodiscard]] std::vector<StudyObjective> named_objectives(const std::string& columns);

// Those of `pareto`, likewise, of the study where `front`, or none. Throws UsageError for a name
// that is no column of numbers, and for `front` of a study without objectives.
[[nodiscard]] std::vector<StudyObjective> front_objectives(const Study& study,
                                                           const std::string& pareto, bool front);

}  // namespace tilecast::sim

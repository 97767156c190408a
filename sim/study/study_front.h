// The objectives of a Pareto front, by name.
//
//   pareto_rows(study, table, front_objectives(study, "time_s,-peak_tflops", false));
#pragma once

#include <string>
#include <vector>

#include "sim/study/study_table.h"

namespace tilecast::sim {

// Parses "COLUMN,COLUMN"; a minus before a name: larger is better. Names are not checked
// (check_objective).
[[nodiscard]] std::vector<StudyObjective> named_objectives(const std::string& columns);

// The objectives of `pareto`, parsed as above; else those of the study if `front`; else none.
// Throws UsageError for a name that is not a numeric column, and for `front` without objectives in
// the study.
[[nodiscard]] std::vector<StudyObjective> front_objectives(const Study& study,
                                                           const std::string& pareto, bool front);

}  // namespace tilecast::sim

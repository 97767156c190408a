// Fronts of a study's rows, and tables for people. Pure.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measured/csv.h"
#include "sim/study/study.h"

namespace tilecast::sim {

// Throws UsageError if the objective is not a numeric column.
void check_objective(const Study& study, const StudyObjective& objective);
// The feasible rows not dominated by another row of the same program and model (search/pareto.h),
// in the order of the table.
[[nodiscard]] measured::CsvTable pareto_rows(const Study& study, const measured::CsvTable& table,
                                             std::span<const StudyObjective> objectives);
// Fewer columns, short numbers, times in microseconds; columns without information are omitted.
[[nodiscard]] measured::CsvTable short_table(const Study& study, const measured::CsvTable& table);

// The lists beside the rows of a result in JSON: objectives and axes, as columns of the table;
// "-x": more of x is better.
[[nodiscard]] std::vector<std::pair<std::string, std::vector<std::string>>> study_lists(
    const Study& study, const measured::CsvTable& table);

// The objectives of a Pareto front, by name.
//
//   pareto_rows(study, table, front_objectives(study, "time_s,-peak_tflops", false));

// Parses "COLUMN,COLUMN"; a minus before a name: larger is better. Names are not checked
// (check_objective).
[[nodiscard]] std::vector<StudyObjective> named_objectives(const std::string& columns);

// The objectives of `pareto`, parsed as above; else those of the study if `front`; else none.
// Throws UsageError for a name that is not a numeric column, and for `front` without objectives in
// the study.
[[nodiscard]] std::vector<StudyObjective> front_objectives(const Study& study,
                                                           const std::string& pareto, bool front);

}  // namespace tilecast::sim

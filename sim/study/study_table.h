// Fronts of a study's rows, and tables for people. Pure.
#pragma once

#include <span>

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

}  // namespace tilecast::sim

// What is made of the rows of a study: fronts, and tables that people read. Pure.
#pragma once

#include <span>

#include "measured/csv.h"
#include "sim/study/study.h"

namespace tilecast::sim {

// Throws UsageError for what is no column of numbers.
void check_objective(const Study& study, const StudyObjective& objective);
// The feasible rows that no other of the same program and model dominates (search/pareto.h), in the
// order of the table.
[[nodiscard]] measured::CsvTable pareto_rows(const Study& study, const measured::CsvTable& table,
                                             std::span<const StudyObjective> objectives);
// Fewer columns, short numbers, times in microseconds; columns that say nothing are left out.
[[nodiscard]] measured::CsvTable short_table(const Study& study, const measured::CsvTable& table);

}  // namespace tilecast::sim

// Estimates a CSV of single operators: the same rows with estimate_ns, bound and utilisation
// (0..1). An operator with several launches gets their sum, the bound of the longest launch, and
// the utilisation of the sum. Columns and operators: measured/op_kernels.h. Keeps the row order;
// the result is the same for any number of jobs.
#pragma once

#include "analytical/cost_model.h"
#include "measured/csv.h"

namespace tilecast::sim {

struct OpTableOptions {
  bool keep_going = false;  // put the message of a bad row into column `error` and continue
  bool repeated = false;    // the largest operand of a product stays on chip between runs
  int jobs = 1;
};

// Names of columns that no operator uses; they are copied. Excludes x_*. Throws Error for a name
// that looks like a misspelt operator column.
[[nodiscard]] std::vector<std::string> unread_op_columns(const measured::CsvTable& table);

// Throws Error naming file, row and column of the first bad row.
[[nodiscard]] measured::CsvTable estimate_operators(const measured::CsvTable& table,
                                                    const hwdesc::Device& device,
                                                    const analytical::CostModel& model,
                                                    const OpTableOptions& options = {});

}  // namespace tilecast::sim

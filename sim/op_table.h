// A CSV of single operators -> the same rows with estimate_ns, bound and utilisation (0..1); of an
// operator of several launches their sum, the bound of the longest, and the sum's utilisation.
// Columns and operators: measured/op_kernels.h. Row order is kept; same bytes for any number of
// jobs.
#pragma once

#include "analytical/cost_model.h"
#include "measured/csv.h"

namespace tilecast::sim {

struct OpTableOptions {
  bool keep_going = false;  // a bad row gets its message in column `error` instead of ending all
  bool repeated = false;    // the largest operand of a product stays on chip between runs
  int jobs = 1;
};

// Columns that no operator has are kept, not read: their names, without x_*. Throws Error for one
// that looks like a misspelt column of an operator.
[[nodiscard]] std::vector<std::string> unread_op_columns(const measured::CsvTable& table);

// Throws Error naming file, row and column of the first bad row.
[[nodiscard]] measured::CsvTable estimate_operators(const measured::CsvTable& table,
                                                    const hwdesc::Device& device,
                                                    const analytical::CostModel& model,
                                                    const OpTableOptions& options = {});

}  // namespace tilecast::sim

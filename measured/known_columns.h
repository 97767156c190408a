// The columns that a table may have. A column that is not read causes an error or a note.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measured/csv.h"

namespace tilecast::measured {

// Columns that identify the operator (measured/op_kernels.h, measured/paradnn.h), `op` first.
[[nodiscard]] std::span<const std::string_view> operator_columns();
// Columns of measured rows that do not identify the operator: runtime_ns, class ...
[[nodiscard]] std::span<const std::string_view> measured_columns();

// The columns of the table that are not in `read`, except x_* (user-defined); to be named in a
// note. Throws Error for a column that looks like a misspelling of one in `read` and is not in
// `kept`.
[[nodiscard]] std::vector<std::string> columns_not_read(const CsvTable& table,
                                                        std::span<const std::string_view> read,
                                                        std::span<const std::string_view> kept);

// Throws Error for the first column that is neither in `read` nor in `kept` and not x_*, p_* or
// q_*.
void allow_only_columns(const CsvTable& table, std::span<const std::string_view> read,
                        std::span<const std::string_view> kept);

}  // namespace tilecast::measured

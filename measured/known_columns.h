// The columns that a table may have. A column that is not read causes an error or a note.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measured/csv.h"
#include "measured/measurement_set.h"

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

// Reads the p_* columns of measurements.csv (parameters of a kernel's code other than the tile) and
// the q_* columns (quantities other than time). Part of measurement_set.h. Thread-safe.

[[nodiscard]] bool is_parameter_column(std::string_view column);
// The names of the table's p_* columns, in order, without p_.
[[nodiscard]] std::vector<std::string> parameter_names(const CsvTable& table);
// The parameters of a row, one per name; NaN for an empty cell. Throws Error (file, row, column)
// for text that is not a finite float.
[[nodiscard]] std::vector<float> read_parameters(const CsvTable& table, const CsvRow& row);

[[nodiscard]] bool is_quantity_column(std::string_view column);
[[nodiscard]] std::string quantity_column(const Quantity& quantity);  // q_<name>
// Throws Error unless the table has a q_* column for each quantity, and no other.
void check_quantity_columns(const CsvTable& table, const Manifest& manifest);
// The quantities of a row, in the manifest's order; otherwise like read_parameters().
[[nodiscard]] std::vector<float> read_quantities(const CsvTable& table, const CsvRow& row,
                                                 const Manifest& manifest);

}  // namespace tilecast::measured

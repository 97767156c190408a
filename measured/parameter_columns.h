// The p_* columns of measurements.csv: how a kernel was written beyond its tile; and the q_*
// columns: what was measured besides time. A part of measurement_set.h. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measured/measurement_set.h"

namespace tilecast::measured {

[[nodiscard]] bool is_parameter_column(std::string_view column);
// Of the table's columns, in their order, without p_.
[[nodiscard]] std::vector<std::string> parameter_names(const CsvTable& table);
// Of a row, one per name; NaN for an empty cell. Throws Error (file, row, column) for text that is
// no finite float.
[[nodiscard]] std::vector<float> read_parameters(const CsvTable& table, const CsvRow& row);

[[nodiscard]] bool is_quantity_column(std::string_view column);
[[nodiscard]] std::string quantity_column(const Quantity& quantity);  // q_<name>
// Throws Error unless the table has a q_* column for each quantity, and no other.
void check_quantity_columns(const CsvTable& table, const Manifest& manifest);
// Of a row, one per quantity; else as read_parameters().
[[nodiscard]] std::vector<float> read_quantities(const CsvTable& table, const CsvRow& row,
                                                 const Manifest& manifest);

}  // namespace tilecast::measured

// Reads the p_* columns of measurements.csv (parameters of a kernel's code other than the tile) and
// the q_* columns (quantities other than time). Part of measurement_set.h. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measured/measurement_set.h"

namespace tilecast::measured {

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

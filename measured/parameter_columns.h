// The p_* columns of measurements.csv: how a kernel was written beyond its tile. A part of
// measurement_set.h. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measured/csv.h"

namespace tilecast::measured {

[[nodiscard]] bool is_parameter_column(std::string_view column);
// Of the table's columns, in their order, without p_.
[[nodiscard]] std::vector<std::string> parameter_names(const CsvTable& table);
// Of a row, one per name; NaN for an empty cell. Throws Error (file, row, column) for text that is
// no finite float.
[[nodiscard]] std::vector<float> read_parameters(const CsvTable& table, const CsvRow& row);

}  // namespace tilecast::measured

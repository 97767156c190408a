// Which columns a table may have: a column that nobody reads is an error, or is named in a note.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measured/csv.h"

namespace tilecast::measured {

// Those that say which operator ran (measured/op_kernels.h, measured/paradnn.h), `op` first.
[[nodiscard]] std::span<const std::string_view> operator_columns();
// Of measured rows, that say nothing about what ran: runtime_ns, class ...
[[nodiscard]] std::span<const std::string_view> measured_columns();

// The columns of the table that are not in `read`, to be named in a note; x_* (their author's own)
// are not. Throws Error for one that looks like a misspelt column of `read` and is not in `kept`.
[[nodiscard]] std::vector<std::string> columns_not_read(const CsvTable& table,
                                                        std::span<const std::string_view> read,
                                                        std::span<const std::string_view> kept);

// Throws Error for the first column that is neither in `read` nor in `kept` and not x_*, p_* or
// q_*.
void allow_only_columns(const CsvTable& table, std::span<const std::string_view> read,
                        std::span<const std::string_view> kept);

}  // namespace tilecast::measured

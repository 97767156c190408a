// CSV tables with source positions, for commands that read and write tables.
//
//   CsvTable table = read_csv(base::SourceText::read_file("ops.csv"));
//   std::int64_t m = integer_cell(table, row, "m", 1);   // Error: ops.csv:3: column 'm': got ...
//
// The syntax is described in measured/csv_reader.h. Unquoted cells are trimmed; a row with too many
// or too few fields is an error. Plain values; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_text.h"

namespace tilecast::measured {

struct CsvRow {
  int line = 0;  // 1-based line at which the row starts
  std::vector<std::string> cells;
};

struct CsvTable {
  std::string file;
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;

  [[nodiscard]] std::optional<std::size_t> find(std::string_view column) const;
  // "" if the column is absent or the cell empty.
  [[nodiscard]] std::string_view cell(const CsvRow& row, std::string_view column) const;
  // `file:line: column 'name': message`.
  [[nodiscard]] std::string where(const CsvRow& row, std::string_view column) const;
};

[[nodiscard]] CsvTable read_csv(const base::SourceText& text);

// A whole number >= `minimum`. An empty cell gives `fallback`, or throws Error without one.
[[nodiscard]] std::int64_t integer_cell(const CsvTable& table, const CsvRow& row,
                                        std::string_view column, std::int64_t minimum,
                                        std::optional<std::int64_t> fallback = std::nullopt);
// A finite number from `least` to `most`; otherwise throws Error.
[[nodiscard]] double number_cell(const CsvTable& table, const CsvRow& row, std::size_t column,
                                 double least, double most);
// Space-separated whole numbers >= 1; an empty cell gives an empty list.
[[nodiscard]] std::vector<std::int64_t> integer_list_cell(const CsvTable& table, const CsvRow& row,
                                                          std::string_view column);

// Adds column names to `table`; the caller appends the cells to each row. Throws Error if a column
// already exists.
[[nodiscard]] CsvTable with_columns(const CsvTable& table, const std::vector<std::string>& added);

// One line including its LF; cells are quoted if needed.
[[nodiscard]] std::string csv_line(const std::vector<std::string>& cells);

}  // namespace tilecast::measured

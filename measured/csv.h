// CSV text in and out, with positions: what the table verbs read and write.
//
//   CsvTable table = read_csv(base::SourceText::read_file("ops.csv"));
//   std::int64_t m = integer_cell(table, row, "m", 1);   // Error: ops.csv:3: column 'm': got ...
//
// The form of the text: measured/csv_reader.h, which reads it. Cells without quotes are trimmed; a
// row with too many or too few fields is an error. Thread-safe (plain values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_text.h"

namespace tilecast::measured {

struct CsvRow {
  int line = 0;  // 1-based, where the row starts
  std::vector<std::string> cells;
};

struct CsvTable {
  std::string file;
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;

  [[nodiscard]] std::optional<std::size_t> find(std::string_view column) const;
  // "" when the column is absent or the cell empty.
  [[nodiscard]] std::string_view cell(const CsvRow& row, std::string_view column) const;
  // `file:line: column 'name': message`.
  [[nodiscard]] std::string where(const CsvRow& row, std::string_view column) const;
};

[[nodiscard]] CsvTable read_csv(const base::SourceText& text);

// A whole number >= `minimum`; `fallback` when the cell is empty, an Error when there is none.
[[nodiscard]] std::int64_t integer_cell(const CsvTable& table, const CsvRow& row,
                                        std::string_view column, std::int64_t minimum,
                                        std::optional<std::int64_t> fallback = std::nullopt);
// A finite number from `least` to `most`; else an Error.
[[nodiscard]] double number_cell(const CsvTable& table, const CsvRow& row, std::size_t column,
                                 double least, double most);
// Space-separated whole numbers >= 1; empty cell: empty list.
[[nodiscard]] std::vector<std::int64_t> integer_list_cell(const CsvTable& table, const CsvRow& row,
                                                          std::string_view column);

// `table` with more columns named, whose cells the caller appends to each row; an Error when one of
// them is there already.
[[nodiscard]] CsvTable with_columns(const CsvTable& table, const std::vector<std::string>& added);

// One line with its LF; cells are quoted where needed.
[[nodiscard]] std::string csv_line(const std::vector<std::string>& cells);

}  // namespace tilecast::measured

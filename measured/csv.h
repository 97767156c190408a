// CSV tables with source positions, for commands that read and write tables.
//
//   CsvTable table = read_csv(base::SourceText::read_file("ops.csv"));
//   std::int64_t m = integer_cell(table, row, "m", 1);   // Error: ops.csv:3: column 'm': got ...
//
// The syntax is described at CsvReader. Unquoted cells are trimmed; a row with too many
// or too few fields is an error. Plain values; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
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

// As CsvReader: `columns` if the text has no line of names, `line`: number of its first line.
[[nodiscard]] CsvTable read_csv(const base::SourceText& text, std::vector<std::string> columns = {},
                                int line = 1);

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

// Reads CSV row by row in bounded memory (RFC 4180): fields may be quoted, `""` is a quote, lines
// end with LF or CRLF, blank lines are skipped, rows are at most 16 MiB. The first line holds the
// column names unless they are given.
//
//   ByteSource source("bmm.csv.gz");
//   CsvReader rows(source.path(), [&](std::string& buffer) { return source.read_more(buffer); });
//   std::vector<std::string_view> cells;          // quotes removed, others trimmed
//   while (rows.next(cells)) { ... }

// An error in a single row; the rows after it can still be read.
class RowError final : public Error {
 public:
  using Error::Error;
};

class CsvReader {
 public:
  using ReadMore = std::function<bool(std::string& buffer)>;  // appends bytes; false at the end

  // `line`: number of the first line. Throws Error if there are no column names or a name appears
  // twice.
  CsvReader(std::string file, ReadMore read_more, std::vector<std::string> columns = {},
            int line = 1);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  // False at the end. `cells` has one entry per column, valid until the next call. Throws RowError
  // `file:line: ...` or `file:line:column: ...` for a malformed row.
  bool next(std::vector<std::string_view>& cells);
  [[nodiscard]] int line() const { return record_line_; }  // 1-based line at which the row starts
  [[nodiscard]] std::string where() const;                 // position of the row: "runs.csv:12"

 private:
  bool next_record(std::string_view& record);
  std::size_t line_end(std::size_t from);
  std::size_t record_end();
  void split(std::string_view record, std::vector<std::string_view>& cells);
  std::string_view unquote(std::string_view record, std::size_t& at);
  [[nodiscard]] std::string position(std::string_view record, std::size_t offset) const;

  std::string file_;
  ReadMore read_more_;
  std::string buffer_, unquoted_;
  std::size_t at_ = 0;              // start of the next record in buffer_
  int line_ = 1, record_line_ = 0;  // of at_, and of the row last returned
  std::vector<std::string> columns_;
};

}  // namespace tilecast::measured

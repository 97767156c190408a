// Reads CSV row by row in bounded memory (RFC 4180): fields may be quoted, `""` is a quote, lines
// end with LF or CRLF, blank lines are skipped, rows are at most 16 MiB. The first line holds the
// column names unless they are given.
//
//   ByteSource source("bmm.csv.gz");
//   CsvReader rows(source.path(), [&](std::string& buffer) { return source.read_more(buffer); });
//   std::vector<std::string_view> cells;          // quotes removed, others trimmed
//   while (rows.next(cells)) { ... }
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tilecast::measured {

// An error in a single row; the rows after it can still be read.
class RowError final : public Error {
 public:
  using Error::Error;
};

class CsvReader {
 public:
  using ReadMore = std::function<bool(std::string& buffer)>;  // appends bytes; false at the end

  // Throws Error if there are no column names or a name appears twice.
  CsvReader(std::string file, ReadMore read_more, std::vector<std::string> columns = {});

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

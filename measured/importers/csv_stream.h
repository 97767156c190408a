// CSV (RFC 4180, plain or gzip) row by row in bounded memory; what a line of measured/csv.h is to a
// table, for files of millions of rows.
//
//   CsvStream rows("bmm.csv.gz");
//   std::vector<std::string_view> cells;          // trimmed, quotes removed
//   while (rows.next(cells)) { ... }
//
// Rows are at most 16 MiB; blank lines are skipped; the first line names the columns, unless their
// names are given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measured/importers/byte_source.h"

namespace tilecast::measured {

class CsvStream {
 public:
  // `columns`: of a file without a line of column names. Otherwise reads it; throws Error when
  // there is none, or a name appears twice.
  explicit CsvStream(const std::string& path, std::vector<std::string> columns = {});

  [[nodiscard]] const std::string& file() const { return source_.path(); }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  // False at the end. `cells` has one entry per column, valid until the next call. A row that is
  // malformed throws RowError (importer.h), after which `next` goes on behind it.
  bool next(std::vector<std::string_view>& cells);
  [[nodiscard]] std::string where() const;  // of the row: "runs.csv:12"
  [[nodiscard]] double progress() const { return source_.progress(); }

 private:
  bool next_record(std::string_view& record);
  void split(std::string_view record, std::vector<std::string_view>& cells);
  std::string_view unquote(std::string_view record, std::size_t& at);

  ByteSource source_;
  std::string buffer_, unquoted_;
  std::size_t at_ = 0;                       // in buffer_
  std::int64_t line_ = 1, record_line_ = 0;  // of at_, and of the row last returned
  std::vector<std::string> columns_;
};

}  // namespace tilecast::measured

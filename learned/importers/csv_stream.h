// CSV (RFC 4180, plain or gzip) row by row in bounded memory; what a line of learned/csv.h is to a
// table, for files of millions of rows.
//
//   CsvStream rows("bmm.csv.gz");
//   std::vector<std::string_view> cells;          // trimmed, quotes removed
//   while (rows.next(cells)) { ... }
//
// Rows are at most 16 MiB; blank lines are skipped; the first line names the columns.
#pragma once

#include "learned/importers/byte_source.h"
#include "learned/importers/row_source.h"

namespace tilecast::learned {

class CsvStream final : public RowSource {
 public:
  // Reads the line of column names; throws Error when there is none, or a name appears twice.
  explicit CsvStream(const std::string& path);

  [[nodiscard]] const std::string& file() const override { return source_.path(); }
  [[nodiscard]] const std::vector<std::string>& columns() const override { return columns_; }
  bool next(std::vector<std::string_view>& cells) override;
  [[nodiscard]] std::string where() const override;
  [[nodiscard]] double progress() const override { return source_.progress(); }

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

}  // namespace tilecast::learned

#include "measured/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace tilecast::measured {
namespace {

std::int64_t parse_integer(const CsvTable& table, const CsvRow& row, std::string_view column,
                           std::string_view text, std::int64_t minimum) {
  const auto value = base::parse_number<std::int64_t>(text);
  if (value && *value >= minimum) return *value;
  throw Error(fmt::format("{}: got '{}', expected a whole number of at least {}",
                          table.where(row, column), text, minimum));
}

}  // namespace

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

std::string_view CsvTable::cell(const CsvRow& row, std::string_view column) const {
  const auto index = find(column);
  return index ? std::string_view(row.cells[*index]) : std::string_view{};
}

std::string CsvTable::where(const CsvRow& row, std::string_view column) const {
  return fmt::format("{}:{}: column '{}'", file, row.line, column);
}

CsvTable read_csv(const base::SourceText& text, std::vector<std::string> columns, int line) {
  bool given = false;
  const auto read_more = [&](std::string& buffer) {
    if (!given) buffer = text.text();
    return !std::exchange(given, true);
  };
  CsvReader reader(text.file(), read_more, std::move(columns), line);
  CsvTable table{text.file(), reader.columns(), {}};
  std::vector<std::string_view> cells;
  while (reader.next(cells)) table.rows.push_back({reader.line(), {cells.begin(), cells.end()}});
  return table;
}

std::int64_t integer_cell(const CsvTable& table, const CsvRow& row, std::string_view column,
                          std::int64_t minimum, std::optional<std::int64_t> fallback) {
  const std::string_view text = table.cell(row, column);
  if (!text.empty()) return parse_integer(table, row, column, text, minimum);
  if (fallback) return *fallback;
  throw Error(
      fmt::format("{}: {}, expected a whole number of at least {}", table.where(row, column),
                  table.find(column) ? "the cell is empty" : "the column is missing", minimum));
}

double number_cell(const CsvTable& table, const CsvRow& row, std::size_t column, double least,
                   double most) {
  const std::string_view text = row.cells[column];
  const std::optional<double> value = base::parse_number(text);
  if (value && *value >= least && *value <= most) return *value;
  throw Error(fmt::format("{}: got '{}', expected a number from {} to {}",
                          table.where(row, table.columns[column]), text, least, most));
}

std::vector<std::int64_t> integer_list_cell(const CsvTable& table, const CsvRow& row,
                                            std::string_view column) {
  std::vector<std::int64_t> values;
  std::string_view rest = table.cell(row, column);
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    values.push_back(parse_integer(table, row, column, word, 1));
    rest = base::trim(rest.substr(word.size()));
  }
  return values;
}

CsvTable with_columns(const CsvTable& table, const std::vector<std::string>& added) {
  CsvTable result = table;
  for (const std::string& column : added) {
    if (table.find(column)) {
      throw Error(fmt::format("{}:1: column '{}' is there already; it would be written twice",
                              table.file, column));
    }
    result.columns.push_back(column);
  }
  return result;
}

// Quoted at the start of a file, where it would be read as a byte order mark.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) line += ',';
    const bool quote = cell.find_first_of(",\"\r\n") != std::string::npos ||
                       base::trim(cell) != cell || cell.starts_with(kByteOrderMark) ||
                       (cell.empty() && cells.size() == 1);  // it would be a blank line
    if (!quote) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char c : cell) {
      if (c == '"') line += '"';
      line += c;
    }
    line += '"';
  }
  return line + '\n';
}

namespace {

constexpr std::size_t kMaxRowBytes = std::size_t{16} << 20;

}  // namespace

CsvReader::CsvReader(std::string file, ReadMore read_more, std::vector<std::string> columns,
                     int line)
    : file_(std::move(file)),
      read_more_(std::move(read_more)),
      line_(line),
      columns_(std::move(columns)) {
  static_cast<void>(line_end(0));
  if (buffer_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  if (!columns_.empty()) return;
  std::string_view record;
  if (!next_record(record)) {
    throw Error(fmt::format("{}: the table is empty; expected a line of column names", file_));
  }
  std::vector<std::string_view> names;
  split(record, names);
  columns_.assign(names.begin(), names.end());
  for (auto name = columns_.begin(); name != columns_.end(); ++name) {
    if (!name->empty() && std::find(columns_.begin(), name, *name) != name) {
      throw Error(fmt::format("{}: column '{}' appears twice", where(), *name));
    }
  }
}

std::string CsvReader::where() const {
  return fmt::format("{}:{}", file_, record_line_);
}

std::string CsvReader::position(std::string_view record, std::size_t offset) const {
  const std::string_view before = record.substr(0, offset);
  const std::size_t column = offset - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return fmt::format("{}:{}:{}", file_, record_line_ + std::ranges::count(before, '\n'), column);
}

// The first line end at or after at_ + from, reading more if needed; or the end of the file.
// Offsets are relative to at_, which moves within the buffer.
std::size_t CsvReader::line_end(std::size_t from) {
  for (;;) {
    const std::size_t end = buffer_.find('\n', at_ + from);
    from = std::min(end, buffer_.size()) - at_;
    if (from > kMaxRowBytes) {
      throw Error(fmt::format("{}:{}: the row is above 16 MiB; is a quote missing?", file_, line_));
    }
    if (end != std::string::npos) return from;
    buffer_.erase(0, at_);
    at_ = 0;
    if (!read_more_(buffer_)) return buffer_.size();
  }
}

// The end of a row: the end of its line or, if quoted fields contain line ends, of its last line.
std::size_t CsvReader::record_end() {
  std::size_t end = line_end(0);
  const auto find = [&](char wanted, std::size_t from) {
    return std::min(std::string_view(buffer_).substr(at_, end).find(wanted, from), end);
  };
  if (find('"', 0) == end) return end;
  for (std::size_t at = 0; at < end; ++at) {
    if (buffer_[at_ + at] == '"') {
      const std::size_t open = at;
      for (++at;; at += 2) {
        for (at = find('"', at); at == end; at = find('"', at)) {
          if (at_ + end >= buffer_.size()) {
            const std::string_view record = std::string_view(buffer_).substr(at_);
            throw Error(fmt::format("{}: a quoted field never closes", position(record, open)));
          }
          end = line_end(end + 1);
        }
        if (at + 1 >= end || buffer_[at_ + at + 1] != '"') break;
      }
    }
    at = find(',', at);
  }
  return end;
}

// The next row that is not blank.
bool CsvReader::next_record(std::string_view& record) {
  for (;;) {
    record_line_ = line_;
    const std::size_t end = record_end();
    record = std::string_view(buffer_).substr(at_, end);
    const bool at_end = at_ + end >= buffer_.size();
    line_ += 1 + static_cast<int>(std::ranges::count(record, '\n'));
    at_ += end + (at_end ? 0 : 1);
    if (record.ends_with('\r')) record.remove_suffix(1);
    if (!record.empty()) return true;
    if (at_end) return false;
  }
}

std::string_view CsvReader::unquote(std::string_view record, std::size_t& at) {
  const std::size_t start = unquoted_.size();
  for (++at; record[at] != '"' || record.substr(at + 1).starts_with('"'); ++at) {
    if (record[at] == '"') ++at;
    unquoted_ += record[at];
  }
  if (++at < record.size() && record[at] != ',') {
    throw RowError(
        fmt::format("{}: text after a closing quote; expected ',' or the end of the line",
                    position(record, at)));
  }
  return std::string_view(unquoted_).substr(start);
}

void CsvReader::split(std::string_view record, std::vector<std::string_view>& cells) {
  cells.clear();
  if (const std::size_t nul = record.find('\0'); nul != std::string_view::npos) {
    throw RowError(fmt::format("{}: a NUL byte: not a CSV text", position(record, nul)));
  }
  unquoted_.clear();
  unquoted_.reserve(record.size());  // the cells point into it
  for (std::size_t at = 0;;) {
    if (at < record.size() && record[at] == '"') {
      cells.push_back(unquote(record, at));
    } else {
      const std::size_t end = std::min(record.find(',', at), record.size());
      cells.push_back(base::trim(record.substr(at, end - at)));
      at = end;
    }
    if (at >= record.size()) return;
    ++at;
  }
}

bool CsvReader::next(std::vector<std::string_view>& cells) {
  std::string_view record;
  if (!next_record(record)) return false;
  split(record, cells);
  if (cells.size() != columns_.size()) {
    throw RowError(
        fmt::format("{}: got {} fields, expected {}", where(), cells.size(), columns_.size()));
  }
  return true;
}

}  // namespace tilecast::measured

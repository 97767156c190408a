#include "measured/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace tilecast::measured {
namespace {

// Reads one record after another from the text.
class Records {
 public:
  explicit Records(const base::SourceText& source) : source_(source), text_(source.text()) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  // False at the end of the text. Blank lines are skipped.
  bool next(CsvRow& row) {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) advance();
    if (at_ >= text_.size()) return false;
    row = {line_, {}};
    for (;;) {
      row.cells.push_back(field());
      if (at_ >= text_.size() || text_[at_] != ',') break;
      advance();
    }
    if (at_ < text_.size() && text_[at_] == '\r') advance();
    if (at_ < text_.size() && text_[at_] == '\n') advance();
    return true;
  }

 private:
  void advance() {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }

  std::string field() {
    std::string value;
    if (at_ >= text_.size() || text_[at_] != '"') {
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '\r') {
        if (text_[at_] == '\0') throw Error(source_.describe(at_, "NUL byte: not a CSV text"));
        value += text_[at_++];
      }
      return value;
    }
    const std::size_t open = at_;
    advance();
    for (;; advance()) {
      if (at_ >= text_.size()) throw Error(source_.describe(open, "quoted field never closes"));
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
        advance();
      }
      value += text_[at_];
    }
    advance();
    if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '\r') {
      throw Error(source_.describe(at_, "text after a closing quote; expected ',' or end of line"));
    }
    return value;
  }

  const base::SourceText& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

void check_columns(const CsvTable& table) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!table.columns[i].empty() && table.columns[i] == table.columns[j]) {
        throw Error(fmt::format("{}:1: column '{}' appears twice", table.file, table.columns[i]));
      }
    }
  }
}

std::int64_t parse_integer(const CsvTable& table, const CsvRow& row, std::string_view column,
                           std::string_view text, std::int64_t minimum) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < minimum) {
    throw Error(fmt::format("{}: got '{}', expected a whole number of at least {}",
                            table.where(row, column), text, minimum));
  }
  return value;
}

}  // namespace

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

std::string_view CsvTable::cell(const CsvRow& row, std::string_view column) const {
  const auto index = find(column);
  return index ? base::trim(row.cells[*index]) : std::string_view{};
}

std::string CsvTable::where(const CsvRow& row, std::string_view column) const {
  return fmt::format("{}:{}: column '{}'", file, row.line, column);
}

CsvTable read_csv(const base::SourceText& text) {
  CsvTable table{text.file(), {}, {}};
  Records records(text);
  CsvRow row;
  if (!records.next(row)) {
    throw Error(fmt::format("{}: the table is empty; expected a line of column names", table.file));
  }
  for (const std::string& name : row.cells) table.columns.emplace_back(base::trim(name));
  check_columns(table);
  while (records.next(row)) {
    if (row.cells.size() != table.columns.size()) {
      throw Error(fmt::format("{}:{}: got {} fields, expected {} as in the first line", table.file,
                              row.line, row.cells.size(), table.columns.size()));
    }
    table.rows.push_back(row);
  }
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

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) line += ',';
    const bool quote = cell.find_first_of(",\"\r\n") != std::string::npos;
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

}  // namespace tilecast::measured

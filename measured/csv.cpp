#include "measured/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "measured/csv_reader.h"

namespace tilecast::measured {
namespace {

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
  return index ? std::string_view(row.cells[*index]) : std::string_view{};
}

std::string CsvTable::where(const CsvRow& row, std::string_view column) const {
  return fmt::format("{}:{}: column '{}'", file, row.line, column);
}

CsvTable read_csv(const base::SourceText& text) {
  bool given = false;
  CsvReader reader(text.file(), [&](std::string& buffer) {
    if (!given) buffer = text.text();
    return !std::exchange(given, true);
  });
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
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && end == text.data() + text.size() && value >= least &&
      value <= most) {
    return value;
  }
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

}  // namespace tilecast::measured

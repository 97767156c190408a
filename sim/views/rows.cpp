#include "sim/views/rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace tilecast::sim::views {
namespace {

// A cell as shown: on one line, without control characters, truncated between UTF-8 characters.
std::string shown(const std::string& cell, std::size_t width) {
  std::string text = base::printable(cell);
  std::ranges::replace(text, '\n', ' ');
  if (text.size() <= width) return text;
  std::size_t end = width - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "~";
}

void append_line(std::string& out, const std::vector<Column>& columns,
                 const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) line += "  ";
    line += columns[i].right ? fmt::format("{:>{}}", cells[i], widths[i])
                             : fmt::format("{:<{}}", cells[i], widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

using Json = nlohmann::ordered_json;

template <class Number>
bool is_whole_text(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

Json value_of(const std::string& cell) {
  std::int64_t whole = 0;
  double real = 0;
  if (cell.empty()) return nullptr;
  if (is_whole_text(cell, whole)) return whole;
  if (is_whole_text(cell, real) && std::isfinite(real)) return real;
  return cell;
}

// The power of ten of a number as it shows with four digits: 9.9996 is 10.00. Above 0.
int exponent(double size) {
  constexpr double kRoundsUp = 1.00005;
  return static_cast<int>(std::floor(std::log10(size * kRoundsUp)));
}

bool is_number(const std::string& cell) {
  double real = 0;
  return cell.empty() || is_whole_text(cell, real);
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) column.title = shown(column.title, column.title.size() * 4 + 1);
}

void TextTable::add(std::vector<std::string> cells) {
  TC_CHECK(cells.size() == columns_.size(), "a row has one cell per column");
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = shown(cells[i], columns_[i].max_width);
  rows_.push_back(std::move(cells));
}

std::string TextTable::render() const {
  std::vector<std::string> titles, rule;
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    widths.push_back(column.title.size());
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const std::size_t width : widths) rule.emplace_back(width, '-');
  std::string out;
  append_line(out, columns_, titles, widths);
  append_line(out, columns_, rule, widths);
  for (const auto& row : rows_) append_line(out, columns_, row, widths);
  return out;
}

std::string compact(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1e15 || size < 1e-4) return fmt::format("{:.3g}", value);
  const int whole_digits = size < 1 ? 1 : exponent(size) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(4 - whole_digits, size < 0.1 ? 4 : 0, 4));
}

std::string count(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  return whole ? fmt::format("{:.0f}", value) : compact(value);
}

std::string si(double value, std::string_view unit) {
  static constexpr std::array<std::string_view, 10> kPrefixes = {"p", "n", "u", "m", "",
                                                                 "k", "M", "G", "T", "P"};
  constexpr int kNone = 4;  // index of no prefix
  const double size = std::abs(value);
  constexpr int kStep = 3;  // a prefix is a power of 1000
  const int power = size > 0 ? exponent(size) : 0;
  const int steps = (power < 0 ? power - kStep + 1 : power) / kStep;
  const int at = std::clamp(kNone + steps, 0, static_cast<int>(kPrefixes.size()) - 1);
  const double scale = std::pow(1000.0, at - kNone);
  return fmt::format("{} {}{}", compact(value / scale), kPrefixes[static_cast<std::size_t>(at)],
                     unit);
}

std::string duration(double time_s) {
  return si(time_s, "s");
}

std::string binary_size(double bytes) {
  static constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", compact(bytes), kUnits[unit]);
}

std::string percent(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

std::string signed_duration(Seconds time) {
  return (time.value > 0 ? "+" : "") + duration(time.value);
}

std::string signed_percent(double share) {
  return fmt::format("{:+.1f}", 100 * share);
}

std::string rows_csv(const measured::CsvTable& table) {
  std::string out = measured::csv_line(table.columns);
  for (const measured::CsvRow& row : table.rows) out += measured::csv_line(row.cells);
  return out;
}

std::string csv_number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string csv_row(const Json& object, std::string_view header) {
  std::vector<std::string> cells;
  for (std::size_t at = 0, end = 0; end != std::string_view::npos; at = end + 1) {
    end = header.find(',', at);
    const Json value = object.value(header.substr(at, end - at), Json());
    cells.push_back(value.is_null()           ? ""
                    : value.is_string()       ? value.get<std::string>()
                    : value.is_number_float() ? csv_number(value.get<double>())
                                              : value.dump());
  }
  return measured::csv_line(cells);
}

std::string rows_csv(const Json& rows) {
  std::string header, out;
  for (const Json& row : rows) {
    if (header.empty()) {
      for (const auto& item : row.items()) header += (header.empty() ? "" : ",") + item.key();
    }
    out += csv_row(row, header);
  }
  return header.empty() ? "" : header + "\n" + out;
}

Json json_number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

std::string json_line(const Json& document, int indent) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string json_text(const Json& document, int indent) {
  return json_line(document, indent) + "\n";
}

std::string rows_text(const measured::CsvTable& table) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    bool numbers = !table.rows.empty();
    for (const measured::CsvRow& row : table.rows) numbers = numbers && is_number(row.cells[i]);
    Column& column = columns.emplace_back(">" + table.columns[i], 100);
    column.right = numbers;
  }
  TextTable text(columns);
  for (const measured::CsvRow& row : table.rows) text.add(row.cells);
  return text.render();
}

Json rows_document(const measured::CsvTable& table, const std::string& schema, const Lists& lists) {
  Json rows = Json::array();
  for (const measured::CsvRow& row : table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      object[table.columns[i]] = value_of(row.cells[i]);
    }
    rows.push_back(std::move(object));
  }
  Json document = {{"schema", schema}};
  for (const auto& [name, members] : lists) document[name] = members;
  document["rows"] = std::move(rows);
  return document;
}

std::string rows_json(const measured::CsvTable& table, const std::string& schema,
                      const Lists& lists) {
  return json_text(rows_document(table, schema, lists));
}

}  // namespace tilecast::sim::views

#include "sim/views/rows.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

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

bool is_number(const std::string& cell) {
  double real = 0;
  return cell.empty() || is_whole_text(cell, real);
}

}  // namespace

std::string rows_csv(const measured::CsvTable& table) {
  std::string out = measured::csv_line(table.columns);
  for (const measured::CsvRow& row : table.rows) out += measured::csv_line(row.cells);
  return out;
}

std::string rows_text(const measured::CsvTable& table) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    bool numbers = !table.rows.empty();
    for (const measured::CsvRow& row : table.rows) numbers = numbers && is_number(row.cells[i]);
    columns.push_back({table.columns[i], numbers ? Align::kRight : Align::kLeft, 100});
  }
  TextTable text(columns);
  for (const measured::CsvRow& row : table.rows) text.add(row.cells);
  return text.render();
}

std::string rows_json(const measured::CsvTable& table, const std::string& schema) {
  Json rows = Json::array();
  for (const measured::CsvRow& row : table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      object[table.columns[i]] = value_of(row.cells[i]);
    }
    rows.push_back(std::move(object));
  }
  const Json document = {{"schema", schema}, {"rows", std::move(rows)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tilecast::sim::views

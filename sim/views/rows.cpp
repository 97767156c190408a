#include "sim/views/rows.h"

#include <fmt/format.h>

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

std::string csv_header(const Fields& fields) {
  std::vector<std::string> names;
  for (const Field& field : fields) names.push_back(field.name);
  return measured::csv_line(names);
}

std::string csv_row(const Fields& fields) {
  std::vector<std::string> cells;
  for (const Field& field : fields) cells.push_back(field.cell);
  return measured::csv_line(cells);
}

std::string csv_number(double value) {
  return fmt::format("{}", value);
}

std::string csv_number(const std::optional<double>& value) {
  return value ? csv_number(*value) : "";
}

std::string rows_csv(const Json& rows) {
  std::string out;
  for (const Json& row : rows) {
    Fields fields;
    for (const auto& [name, value] : row.items()) {
      fields.push_back({name, value.is_null()           ? ""
                              : value.is_string()       ? value.get<std::string>()
                              : value.is_number_float() ? csv_number(value.get<double>())
                                                        : value.dump()});
    }
    if (out.empty()) out = csv_header(fields);
    out += csv_row(fields);
  }
  return out;
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
    columns.push_back({table.columns[i], numbers ? Align::kRight : Align::kLeft, 100});
  }
  TextTable text(columns);
  for (const measured::CsvRow& row : table.rows) text.add(row.cells);
  return text.render();
}

Json rows_document(const measured::CsvTable& table, const std::string& schema) {
  Json rows = Json::array();
  for (const measured::CsvRow& row : table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      object[table.columns[i]] = value_of(row.cells[i]);
    }
    rows.push_back(std::move(object));
  }
  return {{"schema", schema}, {"rows", std::move(rows)}};
}

std::string rows_json(const measured::CsvTable& table, const std::string& schema) {
  return json_text(rows_document(table, schema));
}

}  // namespace tilecast::sim::views

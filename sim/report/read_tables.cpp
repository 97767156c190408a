#include <fmt/format.h>

#include <algorithm>

#include "sim/report/readers.h"

namespace tilecast::sim::report {
namespace {

using RecordCell = std::variant<std::monostate, double, std::string>;

RecordCell cell_of(const Json& json) {
  if (json.is_null()) return std::monostate{};
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_boolean()) return json.get<bool>() ? "yes" : "no";
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string fact_text(const Json& json) {
  const RecordCell cell = cell_of(json);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{}", *number);
  return "none";
}

// Columns in the order in which the records first name them.
RecordTable table_of(const std::string& title, const Json& records) {
  RecordTable table{.title = title};
  const auto column_of = [&](const std::string& key) {
    const auto found = std::ranges::find(table.columns, key);
    const auto at = static_cast<std::size_t>(found - table.columns.begin());
    if (found == table.columns.end()) table.columns.push_back(key);
    return at;
  };
  for (const Json& record : records) {
    std::vector<RecordCell> row(table.columns.size());
    for (const auto& item : record.items()) {
      const std::size_t column = column_of(item.key());
      if (row.size() <= column) row.resize(column + 1);
      row[column] = cell_of(item.value());
    }
    table.rows.push_back(std::move(row));
  }
  for (auto& row : table.rows) row.resize(table.columns.size());
  return table;
}

bool is_records(const Json& json) {
  return json.is_array() && !json.empty() &&
         std::ranges::all_of(json, [](const Json& each) { return each.is_object(); });
}

}  // namespace

EvaluationResult read_evaluation(const Value& root) {
  EvaluationResult result{.source = root.file()};
  for (const Value& set : root.list("sets")) {
    result.sets.push_back(fmt::format("{}: {} rows of {}; {}", set.text("name"), set.number("rows"),
                                      set.text("measured_on"), set.text("source")));
  }
  for (const Value& score : root.list("scores")) {
    result.scores.push_back({.by = score.text("by"),
                             .stratum = score.text("stratum"),
                             .model = score.text("model"),
                             .metric = score.text("metric"),
                             .value = score.number_if("value"),
                             .low = score.number_if("low"),
                             .high = score.number_if("high"),
                             .rows = size_of(score, "rows")});
  }
  for (const Value& note : root.list("notes")) result.notes.push_back(note.text());
  return result;
}

TablesResult read_tables(const Value& root) {
  TablesResult result{.source = root.file(), .schema = root.text("schema")};
  for (const auto& item : root.json().items()) {
    if (item.key() == "schema") continue;
    if (is_records(item.value())) {
      result.tables.push_back(table_of(item.key(), item.value()));
    } else {
      result.facts.emplace_back(item.key(), fact_text(item.value()));
    }
  }
  return result;
}

}  // namespace tilecast::sim::report

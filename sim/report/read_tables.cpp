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
  if (json.is_null() || (json.is_array() && json.empty())) return "none";
  if (json.is_number_float()) return fmt::format("{:.5g}", json.get<double>());
  const RecordCell cell = cell_of(json);
  const auto* text = std::get_if<std::string>(&cell);
  return text != nullptr ? *text : json.dump();
}

bool is_interval(const Json& json) {
  return json.is_array() && json.size() == 2 && json[0].is_number() && json[1].is_number();
}

// Columns in the order in which the records first name them; an interval is two.
class RecordRows {
 public:
  explicit RecordRows(std::string title) { table_.title = std::move(title); }

  void add(const Json& record) {
    row_.assign(table_.columns.size(), std::monostate{});
    for (const auto& item : record.items()) {
      if (is_interval(item.value())) {
        set(item.key() + " low", item.value()[0]);
        set(item.key() + " high", item.value()[1]);
      } else {
        set(item.key(), item.value());
      }
    }
    table_.rows.push_back(row_);
  }
  RecordTable table() {
    for (auto& row : table_.rows) row.resize(table_.columns.size());
    return std::move(table_);
  }

 private:
  void set(const std::string& column, const Json& value) {
    const auto found = std::ranges::find(table_.columns, column);
    const auto at = static_cast<std::size_t>(found - table_.columns.begin());
    if (found == table_.columns.end()) table_.columns.push_back(column);
    row_.resize(table_.columns.size());
    row_[at] = cell_of(value);
  }

  RecordTable table_;
  std::vector<RecordCell> row_;
};

RecordTable table_of(const std::string& title, const Json& records) {
  RecordRows rows(title);
  for (const Json& record : records) rows.add(record);
  return rows.table();
}

bool is_records(const Json& json) {
  return json.is_array() && !json.empty() &&
         std::ranges::all_of(json, [](const Json& each) { return each.is_object(); });
}

// Objects in objects are members with longer names.
void add_member(const std::string& name, const Json& json, TablesResult& result) {
  if (is_records(json)) {
    result.tables.push_back(table_of(name, json));
  } else if (json.is_object()) {
    for (const auto& item : json.items()) add_member(name + "." + item.key(), item.value(), result);
  } else {
    result.facts.emplace_back(name, fact_text(json));
  }
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
    add_member(item.key(), item.value(), result);
  }
  return result;
}

}  // namespace tilecast::sim::report

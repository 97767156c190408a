// Aligned columns of text; used for every table on the terminal. Pure.
//
//   TextTable table({"kernel", ">time us"});
//   table.add({"fusion.1", "12.5"});
//   std::string text = table.render();   // header, rule, rows; lines end with LF
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/estimate.h"
#include "hwdesc/units.h"
#include "measured/csv.h"

namespace tilecast::sim::views {

struct Column {
  // ">title" aligns right, "title" left; longer cells than `most` are truncated and end with "~".
  Column(std::string text, std::size_t most = 48)
      : title(std::move(text)), max_width(most), right(title.starts_with('>')) {
    if (right) title.erase(0, 1);
  }
  Column(const char* text, std::size_t most = 48) : Column(std::string(text), most) {}

  std::string title;
  std::size_t max_width;
  bool right;
};

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns);
  void add(std::vector<std::string> cells);  // one per column
  [[nodiscard]] std::string render() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// With an SI prefix, about four digits: si(0.07418, "s") is "74.18 ms", si(2.5e12, "FLOP") "2.500
// TFLOP", si(0, "B") "0 B". From p to P; beyond, the outermost prefix.
[[nodiscard]] std::string si(double value, std::string_view unit);
[[nodiscard]] std::string duration(double time_s);  // si(time_s, "s")
[[nodiscard]] inline std::string duration(Seconds time) {
  return duration(time.value);
}
// Bytes of memory that is described in binary units: "1.5 GiB" is 1.5 x 2^30 bytes.
[[nodiscard]] std::string binary_size(double bytes);
// A number with about four significant digits and no exponent up to 1e15.
[[nodiscard]] std::string compact(double value);
// An integer without decimals, anything else as compact().
[[nodiscard]] std::string count(double value);
[[nodiscard]] std::string percent(double share);  // 0.123 -> "12.3"
// The same with a sign, + for values above 0.
[[nodiscard]] std::string signed_duration(Seconds time);
[[nodiscard]] std::string signed_percent(double share);

// Shared by the machine-readable views: rows as CSV, aligned text or JSON. Pure.

// Adds a row of texts and numbers.
template <class... Cells>
void add_row(measured::CsvTable& table, const Cells&... cells) {
  table.rows.push_back({0, {fmt::format("{}", cells)...}});
}

// A table of rows; JSON is {"schema": schema, "rows": [...]}, numbers as numbers, empty cells as
// null.
[[nodiscard]] std::string rows_csv(const measured::CsvTable& table);
[[nodiscard]] std::string rows_text(const measured::CsvTable& table);
using Lists = std::vector<std::pair<std::string, std::vector<std::string>>>;  // names and members
[[nodiscard]] nlohmann::ordered_json rows_document(const measured::CsvTable& table,
                                                   const std::string& schema,
                                                   const Lists& lists = {});
[[nodiscard]] std::string rows_json(const measured::CsvTable& table, const std::string& schema,
                                    const Lists& lists = {});

// Shortest text that parses to the same value, or empty.
[[nodiscard]] std::string csv_number(const std::optional<double>& value);
// The values of a JSON object under the keys of `header`, "a,b,c", as a line of CSV; missing ones
// and null are empty.
[[nodiscard]] std::string csv_row(const nlohmann::ordered_json& object, std::string_view header);
// JSON objects, all with the keys of the first one, as CSV; "" without objects.
[[nodiscard]] std::string rows_csv(const nlohmann::ordered_json& rows);
[[nodiscard]] nlohmann::ordered_json json_number(const std::optional<double>& value);  // or null
// Serialises every output document: invalid UTF-8 is replaced. `indent` -1: on one line.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& document, int indent = 1);
// The same without a newline at the end.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& document, int indent = -1);

// A JSON list: what `json_of` says of each.
template <class Json = nlohmann::ordered_json, class Range, class JsonOf>
[[nodiscard]] Json list_of(const Range& range, const JsonOf& json_of) {
  Json list = Json::array();
  for (const auto& one : range) list.push_back(json_of(one));
  return list;
}

// Adds members of a struct to a JSON object, under their own names.
//
//   TC_ADD_MEMBERS(json, row, source, metric);   // json["source"] = row.source; ...
#define TC_ADD_MEMBERS(object, from, ...)                                 \
  do {                                                                    \
    auto& tc_object = object;                                             \
    const auto& tc_from = from;                                           \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(TC_ADD_MEMBER, __VA_ARGS__)) \
  } while (false)
#define TC_ADD_MEMBER(member) tc_object[#member] = tc_from.member;

// One estimate: the fields shared by simulate and explain, SI units; with a correction, also its
// fields (sim/views/parts.h).
[[nodiscard]] nlohmann::ordered_json estimate_json(const analytical::Estimate& estimate);

}  // namespace tilecast::sim::views

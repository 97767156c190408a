// The machine-readable forms of a comparison.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "measured/csv.h"
#include "sim/views/compare.h"
#include "sim/views/correction.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::optional<double> seconds(const std::optional<Seconds>& time) {
  return time ? std::optional(time->value) : std::nullopt;
}

Json number_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string bound_name(const CompareCell& cell) {
  return cell.bound ? std::string(analytical::name(*cell.bound)) : "";
}

Json cell_json(const Comparison& c, const CompareRow& row, std::size_t side) {
  const CompareCell& cell = *row.cells[side];
  Json out = {{"side", c.sides[side].name},
              {"time_s", cell.time.value},
              {"total_s", (cell.time * row.launches).value}};
  if (cell.bound) out["bound"] = bound_name(cell);
  if (side != c.reference) {
    out["lost_s"] = number_json(seconds(lost(c, row, side)));
    out["relative"] = number_json(relative(c, row, side));
  }
  add_correction(out, cell.correction);
  return out;
}

Json row_json(const Comparison& c, const CompareRow& row) {
  Json out = {{"group", c.groups[row.group].name},
              {"name", row.name},
              {"class", row.op_class},
              {"tile", row.tile},
              {"launches", row.launches},
              {"times", Json::array()}};
  if (row.line > 0) out["line"] = row.line;
  for (std::size_t side = 0; side < c.sides.size(); ++side) {
    if (row.cells[side]) out["times"].push_back(cell_json(c, row, side));
  }
  return out;
}

Json totals_json(const Comparison& c, const std::vector<SideTotal>& totals) {
  Json out = Json::array();
  for (std::size_t side = 0; side < totals.size(); ++side) {
    const SideTotal& total = totals[side];
    out.push_back({{"side", c.sides[side].name},
                   {"rows", total.rows},
                   {"time_s", total.time.value},
                   {"shared_rows", total.shared},
                   {"shared_time_s", total.shared_time.value},
                   {"reference_s", total.reference.value},
                   {"difference_s", total.difference().value},
                   {"lost_s", total.lost.value},
                   {"median_ape", number_json(total.median_ape)}});
  }
  return out;
}

Json group_json(const Comparison& c, const CompareGroup& group) {
  Json whole = Json::array();
  for (std::size_t side = 0; side < c.sides.size(); ++side) {
    if (!group.whole[side]) continue;
    whole.push_back({{"side", c.sides[side].name}, {"time_s", group.whole[side]->value}});
  }
  return {{"name", group.name},
          {"file", group.file},
          {"rows", group.rows},
          {"whole_runs", std::move(whole)},
          {"totals", totals_json(c, group.totals)}};
}

Json blamed_json(const Comparison& c) {
  Json out = Json::array();
  for (std::size_t side = 0; side < c.sides.size(); ++side) {
    for (const BoundTotal& total : c.blamed[side]) {
      out.push_back({{"side", c.sides[side].name},
                     {"bound", analytical::name(total.bound)},
                     {"rows", total.rows},
                     {"time_s", total.time.value},
                     {"reference_s", total.reference.value},
                     {"lost_s", total.lost.value}});
    }
  }
  return out;
}

}  // namespace

std::string compare_csv(const Comparison& c) {
  std::vector<std::string> columns{
      "group",  "name",   "class",   "tile",  "launches",  "line",        "side",   "kind",
      "device", "time_s", "total_s", "bound", "reference", "reference_s", "lost_s", "relative"};
  for (std::string& column : correction_columns()) columns.push_back(std::move(column));
  std::string out = measured::csv_line(columns);
  for (const CompareRow& row : c.rows) {
    for (std::size_t i = 0; i < c.sides.size(); ++i) {
      if (!row.cells[i]) continue;
      const auto& reference = row.cells[c.references[i]];
      const CompareCell& cell = *row.cells[i];
      std::vector<std::string> cells{c.groups[row.group].name,
                                     row.name,
                                     row.op_class,
                                     row.tile,
                                     number(row.launches),
                                     row.line > 0 ? std::to_string(row.line) : "",
                                     c.sides[i].name,
                                     std::string(name(c.sides[i].kind)),
                                     c.sides[i].device,
                                     number(cell.time.value),
                                     number((cell.time * row.launches).value),
                                     bound_name(cell),
                                     c.sides[c.references[i]].name,
                                     reference ? number(reference->time.value) : "",
                                     number(seconds(lost(c, row, i))),
                                     number(relative(c, row, i))};
      for (std::string& value : correction_values(cell.correction)) {
        cells.push_back(std::move(value));
      }
      out += measured::csv_line(cells);
    }
  }
  return out;
}

std::string compare_json(const Comparison& c) {
  Json document = {{"schema", "tilecast.compare/1"}, {"sides", Json::array()}};
  for (std::size_t i = 0; i < c.sides.size(); ++i) {
    document["sides"].push_back({{"name", c.sides[i].name},
                                 {"kind", name(c.sides[i].kind)},
                                 {"model", c.sides[i].model},
                                 {"device", c.sides[i].device},
                                 {"against", c.sides[c.references[i]].name}});
  }
  document["reference"] = c.sides[c.reference].name;
  document["sorted_by"] = c.sides[c.sorted_by].name;
  document["groups"] = Json::array();
  for (const CompareGroup& group : c.groups) document["groups"].push_back(group_json(c, group));
  document["totals"] = totals_json(c, c.totals);
  document["blamed"] = blamed_json(c);
  document["rows"] = Json::array();
  for (const CompareRow& row : c.rows) document["rows"].push_back(row_json(c, row));
  document["unmatched"] = Json::array();
  for (const Unmatched& row : c.unmatched) {
    document["unmatched"].push_back(
        {{"set", row.set}, {"name", row.name}, {"line", row.line}, {"time_s", row.time.value}});
  }
  document["notes"] = c.notes;
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tilecast::sim::views

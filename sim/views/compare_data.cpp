// The machine-readable forms of a comparison.
#include <nlohmann/json.hpp>

#include "sim/views/compare.h"
#include "sim/views/correction.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> seconds(const std::optional<Seconds>& time) {
  return time ? std::optional(time->value) : std::nullopt;
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
    out["lost_s"] = json_number(seconds(lost(c, row, side)));
    out["relative"] = json_number(relative(c, row, side));
  }
  add_correction(out, cell.correction);
  return out;
}

Json counts_json(const CompareRow& row) {
  const ProfileCounts& counts = *row.profile;
  return {{"category", counts.category},
          {"overlaps", row.overlaps},
          {"median_s", counts.median.value},
          {"flops", json_number(counts.flops)},
          {"profile_flops", json_number(counts.profile_flops)},
          {"bytes", json_number(counts.bytes)},
          {"profile_bytes", json_number(counts.profile_bytes)}};
}

Json row_json(const Comparison& c, const CompareRow& row) {
  Json out = {{"group", c.groups[row.group].name},
              {"name", row.name},
              {"class", row.op_class},
              {"tile", row.tile},
              {"launches", row.launches},
              {"times", Json::array()}};
  if (row.line > 0) out["line"] = row.line;
  if (row.profile) out["profile"] = counts_json(row);
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
                   {"median_ape", json_number(total.median_ape)}});
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

Json program_json(const Comparison& c, const ProfileProgram& program) {
  Json out = {{"name", c.groups[program.group].name},
              {"runs", program.runs},
              {"median_s", program.median.value},
              {"total_s", program.total.value},
              {"predicted", Json::array()}};
  for (std::size_t side = 0; side < c.sides.size(); ++side) {
    if (!program.predicted[side]) continue;
    out["predicted"].push_back(
        {{"side", c.sides[side].name}, {"time_s", program.predicted[side]->value}});
  }
  return out;
}

Json profile_json(const Comparison& c) {
  const ProfileSummary& profile = *c.profile;
  Json out = {{"file", profile.file},
              {"device", profile.device},
              {"guess", profile.guess},
              {"device_time_s", profile.device_time.value},
              {"joined_s", profile.joined.value},
              {"left_over", Json::array()},
              {"steps", profile.steps},
              {"step_median_s", profile.step_median.value},
              {"programs", Json::array()},
              {"categories", Json::array()},
              {"next", profile.next}};
  for (const ProfileLeftOver& left : profile.left_over) {
    out["left_over"].push_back(
        {{"category", left.category}, {"events", left.events}, {"time_s", left.time.value}});
  }
  for (const ProfileProgram& each : profile.programs) {
    out["programs"].push_back(program_json(c, each));
  }
  for (const CategoryTotal& total : c.categories) {
    out["categories"].push_back({{"category", total.category},
                                 {"rows", total.rows},
                                 {"time_s", total.time.value},
                                 {"reference_s", total.reference.value},
                                 {"lost_s", total.lost.value}});
  }
  return out;
}

void add_counts(const CompareRow& row, Fields& fields) {
  const ProfileCounts& counts = *row.profile;
  const Fields added{{"category", counts.category},
                     {"overlaps", row.overlaps ? "true" : "false"},
                     {"median_s", csv_number(counts.median.value)},
                     {"flops", csv_number(counts.flops)},
                     {"profile_flops", csv_number(counts.profile_flops)},
                     {"bytes", csv_number(counts.bytes)},
                     {"profile_bytes", csv_number(counts.profile_bytes)}};
  fields.insert(fields.end(), added.begin(), added.end());
}

Fields fields_of(const Comparison& c, const CompareRow& row, std::size_t side) {
  const CompareCell& cell = *row.cells[side];
  const CompareSide& of = c.sides[side];
  const auto& reference = row.cells[c.references[side]];
  Fields fields{{"group", c.groups[row.group].name},
                {"name", row.name},
                {"class", row.op_class},
                {"tile", row.tile},
                {"launches", csv_number(row.launches)},
                {"line", row.line > 0 ? std::to_string(row.line) : ""},
                {"side", of.name},
                {"kind", std::string(name(of.kind))},
                {"device", of.device},
                {"time_s", csv_number(cell.time.value)},
                {"total_s", csv_number((cell.time * row.launches).value)},
                {"bound", bound_name(cell)},
                {"reference", c.sides[c.references[side]].name},
                {"reference_s", reference ? csv_number(reference->time.value) : ""},
                {"lost_s", csv_number(seconds(lost(c, row, side)))},
                {"relative", csv_number(relative(c, row, side))}};
  if (row.profile) add_counts(row, fields);
  add_correction(fields, cell.correction);
  return fields;
}

}  // namespace

std::string compare_csv(const Comparison& c) {
  std::string out;
  for (const CompareRow& row : c.rows) {
    for (std::size_t side = 0; side < c.sides.size(); ++side) {
      if (!row.cells[side]) continue;
      const Fields fields = fields_of(c, row, side);
      if (out.empty()) out = csv_header(fields);
      out += csv_row(fields);
    }
  }
  return out;
}

std::string compare_json(const Comparison& c) {
  Json document = {{"schema", "tilecast.compare/1"}, {"sides", Json::array()}};
  if (c.profile) document["profile"] = profile_json(c);
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
  return json_text(document);
}

}  // namespace tilecast::sim::views

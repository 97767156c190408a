// The machine-readable forms of a comparison.
#include "sim/views/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/views/compare_profile.h"
#include "sim/views/correction.h"
#include "sim/views/energy.h"
#include "sim/views/rows.h"
#include "sim/views/text_table.h"

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

namespace {

using Kind = CompareSide::Kind;

std::string describe(const CompareSide& side) {
  switch (side.kind) {
    case Kind::kModel:
      return fmt::format("{} on {}", side.model, side.device);
    case Kind::kCompiler:
      return "the compiler's own estimate, in the module";
    case Kind::kMeasured:
      break;
  }
  return fmt::format("measured on {}", side.device);
}

std::string header(const Comparison& c, std::size_t top) {
  std::string out = c.profile ? profile_header(c) : "";
  for (std::size_t i = 0; !c.profile && i < std::min(top, c.groups.size()); ++i) {
    const CompareGroup& group = c.groups[i];
    out += fmt::format("rows    {}: {} of {}\n", group.name, group.rows, group.file);
  }
  if (!c.profile && top < c.groups.size()) {
    out += fmt::format("rows    ... {} more of {} in all\n", c.groups.size() - top, c.rows.size());
  }
  for (std::size_t i = 0; i < c.sides.size(); ++i) {
    out += fmt::format("side    {}: {}{}\n", c.sides[i].name, describe(c.sides[i]),
                       i == c.reference ? "  (the reference)"
                       : c.references[i] == c.reference
                           ? ""
                           : fmt::format("  (against {})", c.sides[c.references[i]].name));
  }
  return out;
}

// Whether some side has energies.
bool says_energy(const Comparison& c) {
  return std::ranges::any_of(c.totals, [](const SideTotal& t) { return t.energy.has_value(); });
}

// Times summed over rows x launches; relative to the reference over shared rows.
std::vector<std::string> time_cells(const Comparison& c, const std::string& group, std::size_t rows,
                                    std::size_t side, const SideTotal& total) {
  std::vector<std::string> cells{group, c.sides[side].name,
                                 fmt::format("{} of {}", total.rows, rows),
                                 microseconds(total.time.value)};
  if (side == c.reference) {
    cells.insert(cells.end(), {"", "", "", "", "", "", ""});
    return cells;
  }
  if (total.shared == 0) {
    cells.insert(cells.end(), {"0", "", "", "", "", "", ""});
    return cells;
  }
  cells.push_back(std::to_string(total.shared));
  cells.push_back(total.time.value > 0 ? percent(total.shared_time / total.time) : "");
  cells.push_back(microseconds(total.reference.value));
  cells.push_back(signed_microseconds(total.difference()));
  cells.push_back(total.reference.value > 0 ? signed_percent(total.difference() / total.reference)
                                            : "");
  cells.push_back(microseconds(total.lost.value));
  cells.push_back(total.median_ape ? percent(*total.median_ape) : "");
  return cells;
}

std::vector<std::string> total_row(const Comparison& c, const std::string& group, std::size_t rows,
                                   std::size_t side, const SideTotal& total) {
  std::vector<std::string> cells = time_cells(c, group, rows, side, total);
  if (says_energy(c)) cells.push_back(total.energy ? joules(*total.energy) : "");
  return cells;
}

std::string totals(const Comparison& c, std::size_t top) {
  std::vector<Column> columns{{"total"},
                              {"side", Align::kLeft, 32},
                              {"rows timed", Align::kRight},
                              {"time us", Align::kRight},
                              {"shared", Align::kRight},
                              {"of time %", Align::kRight},
                              {"reference us", Align::kRight},
                              {"difference us", Align::kRight},
                              {"%", Align::kRight},
                              {"lost us", Align::kRight},
                              {"median %", Align::kRight}};
  if (says_energy(c)) columns.push_back({"energy", Align::kRight});
  TextTable table(columns);
  for (std::size_t g = 0; g < std::min(top, c.groups.size()); ++g) {
    const CompareGroup& group = c.groups[g];
    for (std::size_t i = 0; i < c.sides.size(); ++i) {
      table.add(total_row(c, group.name, group.rows, i, group.totals[i]));
    }
  }
  for (std::size_t i = 0; c.groups.size() > 1 && i < c.sides.size(); ++i) {
    table.add(total_row(c, "all", c.rows.size(), i, c.totals[i]));
  }
  return table.render() +
         "shared: rows that the reference times too, and their share of the side's time;\n"
         "lost: sum of |side - reference| over them; median: of |side / reference - 1|\n" +
         (says_energy(c) ? "energy: of the rows timed, with idle power over their time\n" : "");
}

// Measured runs of whole programs next to the sum of each side.
std::string whole_runs(const Comparison& c) {
  std::string out;
  for (const CompareGroup& group : c.groups) {
    for (std::size_t i = 0; i < c.sides.size(); ++i) {
      if (!group.whole[i]) continue;
      out += fmt::format("run     {}: {} us as a whole ({})", group.name,
                         microseconds(group.whole[i]->value), c.sides[i].name);
      for (std::size_t side = 0; side < c.sides.size(); ++side) {
        const bool is_its = c.sides[side].own.value_or(i) == i;
        if (group.totals[side].rows < group.rows || side == i || !is_its) continue;
        out += fmt::format(", {} {} %", c.sides[side].name,
                           signed_percent(group.totals[side].time / *group.whole[i] - 1));
      }
      out += "\n";
    }
  }
  return out;
}

std::string blamed(const Comparison& c) {
  TextTable table({{"side", Align::kLeft, 32},
                   {"blames"},
                   {"rows", Align::kRight},
                   {"time us", Align::kRight},
                   {"reference us", Align::kRight},
                   {"difference us", Align::kRight},
                   {"lost us", Align::kRight},
                   {"of lost %", Align::kRight}});
  bool any = false;
  for (std::size_t i = 0; i < c.sides.size(); ++i) {
    for (const BoundTotal& total : c.blamed[i]) {
      any = true;
      const Seconds all = c.totals[i].lost;
      table.add({c.sides[i].name, std::string(analytical::name(total.bound)),
                 std::to_string(total.rows), microseconds(total.time.value),
                 microseconds(total.reference.value),
                 signed_microseconds(total.time - total.reference), microseconds(total.lost.value),
                 all.value > 0 ? percent(total.lost / all) : ""});
    }
  }
  return any ? "\n" + table.render() : "";
}

// The columns of the table of rows that have values.
class RowsTable {
 public:
  explicit RowsTable(const Comparison& c) : c_(c) {
    const auto any = [&](const auto& says) { return std::ranges::any_of(c.rows, says); };
    groups_ = c.groups.size() > 1 &&
              any([&](const CompareRow& row) { return row.name != c.groups[row.group].name; });
    launches_ = any([](const CompareRow& row) { return row.launches != 1; });
    profile_counts_ = any([](const CompareRow& row) {
      return row.profile && (row.profile->profile_flops || row.profile->profile_bytes);
    });
    tiles_ = any([](const CompareRow& row) { return !row.tile.empty(); });
    const auto show = [&](std::size_t side) {
      if (std::ranges::find(order_, side) == order_.end()) order_.push_back(side);
    };
    show(c.reference);
    for (std::size_t i = 0; i < c.sides.size(); ++i) {
      if (c.totals[i].rows == 0) continue;
      show(c.references[i]);
      show(i);
    }
    for (std::size_t i = 0; i < c.sides.size(); ++i) {
      bounds_.push_back(
          any([&](const CompareRow& row) { return row.cells[i] && row.cells[i]->bound; }));
      corrections_.push_back(
          any([&](const CompareRow& row) { return row.cells[i] && row.cells[i]->correction; }));
    }
  }

  [[nodiscard]] std::string render(std::size_t shown) const {
    TextTable table(columns());
    for (std::size_t i = 0; i < shown; ++i) table.add(cells(c_.rows[i]));
    return table.render();
  }

 private:
  [[nodiscard]] std::vector<Column> columns() const {
    std::vector<Column> columns;
    if (groups_) columns.push_back({"in", Align::kLeft, 40});
    columns.push_back({"kernel", Align::kLeft, 72});
    columns.push_back({"class", Align::kLeft, 24});
    if (launches_) columns.push_back({"launches", Align::kRight});
    if (tiles_) columns.push_back({"tile", Align::kLeft, 40});
    for (const std::size_t side : order_) {
      columns.push_back({c_.sides[side].name + " us", Align::kRight});
      if (side != c_.reference) {
        columns.push_back({"lost us", Align::kRight});
        columns.push_back({"%", Align::kRight});
      }
      if (bounds_[side]) columns.push_back({"bound"});
      if (corrections_[side]) columns.push_back({kCorrectionTitle});
    }
    if (c_.profile)
      std::ranges::copy(profile_columns(profile_counts_), std::back_inserter(columns));
    return columns;
  }

  [[nodiscard]] std::vector<std::string> cells(const CompareRow& row) const {
    std::vector<std::string> cells;
    if (groups_) cells.push_back(c_.groups[row.group].name);
    cells.push_back(row.name);
    cells.push_back(row.op_class);
    if (launches_) cells.push_back(count(row.launches));
    if (tiles_) cells.push_back(row.tile);
    for (const std::size_t side : order_) add_side(row, side, cells);
    if (c_.profile) {
      std::ranges::copy(profile_cells(*row.profile, profile_counts_), std::back_inserter(cells));
    }
    return cells;
  }

  void add_side(const CompareRow& row, std::size_t side, std::vector<std::string>& cells) const {
    const auto& cell = row.cells[side];
    cells.push_back(cell ? microseconds(cell->time.value) : "-");
    if (side != c_.reference) {
      const auto time = lost(c_, row, side);
      const auto share = relative(c_, row, side);
      cells.push_back(time ? signed_microseconds(*time) : "");
      cells.push_back(share ? signed_percent(*share) : "");
    }
    if (bounds_[side]) {
      const bool says = cell && cell->bound;
      cells.push_back(says ? std::string(analytical::name(*cell->bound)) : "");
    }
    if (corrections_[side]) cells.push_back(cell ? correction_cell(cell->correction) : "");
  }

  const Comparison& c_;
  bool groups_ = false, launches_ = false, tiles_ = false, profile_counts_ = false;
  std::vector<std::size_t> order_;          // sides shown, references first
  std::vector<bool> bounds_, corrections_;  // by side
};

std::string rows(const Comparison& c, std::size_t top) {
  const std::size_t shown = std::min(top, c.rows.size());
  std::string out = "\n" + RowsTable(c).render(shown);
  Seconds rest;
  for (std::size_t i = shown; i < c.rows.size(); ++i) {
    const auto time = lost(c, c.rows[i], c.sorted_by);
    if (time) rest += Seconds{std::abs(time->value)};
  }
  if (shown < c.rows.size()) {
    out += fmt::format("... {} more rows, {} us lost by {}  (--all shows them)\n",
                       c.rows.size() - shown, microseconds(rest.value), c.sides[c.sorted_by].name);
  }
  return out + "us: of one launch; lost: (side - reference) x launches\n";
}

std::string unmatched(const Comparison& c, std::size_t top) {
  if (c.unmatched.empty()) return "";
  Seconds sum;
  for (const Unmatched& row : c.unmatched) sum += row.time;
  std::string out = fmt::format("\nmeasured, but no kernel of these programs: {}, {} us\n",
                                c.unmatched.size(), microseconds(sum.value));
  const std::size_t shown = std::min(top, c.unmatched.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Unmatched& row = c.unmatched[i];
    out += fmt::format("  {} us  {}  ({} line {})\n", microseconds(row.time.value), row.name,
                       row.set, row.line);
  }
  if (shown < c.unmatched.size()) out += fmt::format("  ... {} more\n", c.unmatched.size() - shown);
  return out;
}

}  // namespace

std::string compare_text(const Comparison& c, const CompareTableOptions& options) {
  std::string out = header(c, options.top) + (c.profile ? "" : "\n");
  out += c.profile ? blamed(c) + profile_tables(c, options.top)
                   : totals(c, options.top) + whole_runs(c) + blamed(c);
  out += rows(c, options.top) + unmatched(c, options.top);
  for (const std::string& note : c.notes) out += fmt::format("note: {}\n", note);
  return out + (c.profile ? profile_footer(c) : "");
}

}  // namespace tilecast::sim::views

#include "sim/views/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "sim/views/parts.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {
namespace {

constexpr std::size_t kNamed = 3;  // items of a list in one line
constexpr double kMega = 1e6;
// Relative difference of counts per launch above which a row is marked.
constexpr double kCountTolerance = 0.05;

std::string joined_line(const ProfileSummary& profile) {
  std::string out = fmt::format(
      "joined  {} % of {} of device time to {}",
      profile.device_time.value > 0 ? percent(profile.joined / profile.device_time) : "0",
      duration(profile.device_time),
      profile.programs.empty()
          ? "operators with their shapes"
          : fmt::format("instructions of {} program{}", profile.programs.size(),
                        profile.programs.size() == 1 ? "" : "s"));
  for (std::size_t i = 0; i < profile.left_over.size(); ++i) {
    const ProfileLeftOver& left = profile.left_over[i];
    out += fmt::format("{} {} {} in {} events", i == 0 ? "; left:" : ",", left.category,
                       duration(left.time), count(left.events));
  }
  return out + "\n";
}

std::string total_line(const Comparison& c) {
  std::string out = fmt::format("total   measured {}", duration(c.totals[c.reference].time));
  for (std::size_t side = 0; side < c.sides.size(); ++side) {
    if (c.sides[side].kind != CompareSide::Kind::kModel) continue;
    const SideTotal& total = c.totals[side];
    out += fmt::format(", {} predicts {}", c.sides[side].name, duration(total.shared_time));
    if (total.reference.value > 0) {
      out += fmt::format(" ({} %)", signed_percent(total.difference() / total.reference));
    }
  }
  return out + "\n";
}

// The categories and rows with the largest differences.
std::string lost_lines(const Comparison& c) {
  const Seconds all = c.totals[c.sorted_by].lost;
  if (!(all.value > 0)) return "";
  std::string out =
      fmt::format("lost    {} in all by {}:", duration(all), c.sides[c.sorted_by].name);
  for (std::size_t i = 0; i < std::min(kNamed, c.categories.size()); ++i) {
    out += fmt::format("{} {} {} %", i == 0 ? "" : ",", c.categories[i].category,
                       percent(c.categories[i].lost / all));
  }
  out += "; most in";
  std::size_t named = 0;
  for (const CompareRow& row : c.rows) {
    const auto time = lost(c, row, c.sorted_by);
    if (!time || row.overlaps) continue;
    out += fmt::format("{} {} of {} ({}", named == 0 ? "" : ",", row.name, c.groups[row.group].name,
                       signed_duration(*time));
    const auto& bound = row.cells[c.sorted_by]->bound;
    out += bound ? fmt::format(", {})", analytical::name(*bound)) : ")";
    if (++named == kNamed) break;
  }
  return out + "\n";
}

std::string program_table(const Comparison& c, std::size_t top) {
  const std::vector<ProfileProgram>& all = c.profile->programs;
  if (all.empty()) return "";
  std::vector<Column> columns{{"program", 40}, ">runs", ">measured", ">all runs"};
  for (const CompareSide& side : c.sides) {
    if (side.kind != CompareSide::Kind::kModel) continue;
    columns.push_back(">" + side.name);
    columns.push_back(">%");
  }
  TextTable table(columns);
  const std::size_t shown = std::min(top, all.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ProfileProgram& program = all[i];
    std::vector<std::string> cells{c.groups[program.group].name, count(program.runs),
                                   duration(program.median.value), duration(program.total.value)};
    for (std::size_t side = 0; side < c.sides.size(); ++side) {
      if (c.sides[side].kind != CompareSide::Kind::kModel) continue;
      const Seconds predicted = program.predicted[side].value_or(Seconds{0});
      cells.push_back(duration(predicted.value));
      cells.push_back(program.median.value > 0 ? signed_percent(predicted / program.median - 1)
                                               : "");
    }
    table.add(std::move(cells));
  }
  std::string out = "\n" + table.render();
  if (shown < all.size()) out += fmt::format("... {} more programs\n", all.size() - shown);
  return out + "measured: median of the runs; predicted: one run, copies beside other kernels\n";
}

std::string category_table(const Comparison& c, std::size_t top) {
  TextTable table({{"category", 40},
                   ">rows",
                   ">measured",
                   ">" + c.sides[c.sorted_by].name,
                   ">difference",
                   ">lost",
                   ">of lost %"});
  const Seconds all = c.totals[c.sorted_by].lost;
  for (std::size_t i = 0; i < std::min(top, c.categories.size()); ++i) {
    const CategoryTotal& total = c.categories[i];
    table.add({total.category, std::to_string(total.rows), duration(total.reference.value),
               duration(total.time.value), signed_duration(total.time - total.reference),
               duration(total.lost.value), all.value > 0 ? percent(total.lost / all) : ""});
  }
  return "\n" + table.render();
}

std::string millions(const std::optional<double>& value) {
  return value ? compact(*value / kMega) : "";
}

std::string mark(const std::optional<double>& ours, const std::optional<double>& theirs) {
  if (!ours || !theirs) return "";
  return std::abs(*ours - *theirs) > kCountTolerance * std::abs(*theirs) ? "*" : "";
}

std::string profile_header(const Comparison& c) {
  const ProfileSummary& profile = *c.profile;
  std::string out = fmt::format("profile {}: {}, {} of device time", profile.file, profile.device,
                                duration(profile.device_time));
  if (profile.steps > 0) {
    out += fmt::format(", {} steps of {}", count(profile.steps), duration(profile.step_median));
  }
  out += "\n";
  if (!profile.guess.empty()) out += fmt::format("device  {}\n", profile.guess);
  return out + joined_line(profile) + total_line(c) + lost_lines(c);
}

std::string profile_footer(const Comparison& c) {
  return fmt::format(
      "measured: mean; transfers overlap other rows and are in no total; Mflop, MB: of one "
      "launch,\n"
      "by Tilecast and, where it counts, the profile; *: they differ by more than {} %\n{}",
      percent(kCountTolerance),
      c.profile->next.empty() ? "" : fmt::format("\nnext: {}\n", c.profile->next));
}

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
  if (cell.spread.value > 0) out["spread_s"] = cell.spread.value;
  if (side != c.reference) {
    out["lost_s"] = json_number(seconds(lost(c, row, side)));
    out["relative"] = json_number(relative(c, row, side));
  }
  add_correction(out, cell.correction);
  return out;
}

Json counts_json(const CompareRow& row) {
  const ProfileCounts& counts = *row.profile;
  Json out = {{"category", counts.category},
              {"overlaps", row.overlaps},
              {"median_s", counts.median.value},
              {"flops", json_number(counts.flops)},
              {"profile_flops", json_number(counts.profile_flops)},
              {"bytes", json_number(counts.bytes)},
              {"profile_bytes", json_number(counts.profile_bytes)}};
  if (counts.launch) {
    out["registers"] = counts.launch->registers;
    out["shared_bytes"] = counts.launch->shared_bytes;
    out["grid"] = counts.launch->grid;
    out["block"] = counts.launch->block;
    out["occupancy"] = counts.launch->occupancy;
  }
  return out;
}

Json name_json(const Comparison& c, const CompareRow& row) {
  Json out = {{"group", c.groups[row.group].name},
              {"name", row.name},
              {"class", row.op_class},
              {"tile", row.tile},
              {"launches", row.launches},
              {"times", Json::array()}};
  if (row.line > 0) out["line"] = row.line;
  return out;
}

Json row_json(const Comparison& c, const CompareRow& row) {
  Json out = name_json(c, row);
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

void add_lost(Json& out, const LostTotal& total) {
  out["rows"] = total.rows;
  out["time_s"] = total.time.value;
  out["reference_s"] = total.reference.value;
  out["lost_s"] = total.lost.value;
}

Json blamed_json(const Comparison& c) {
  Json out = Json::array();
  for (std::size_t side = 0; side < c.sides.size(); ++side) {
    for (const BoundTotal& total : c.blamed[side]) {
      Json& one = out.emplace_back(Json{{"side", c.sides[side].name}});
      one["bound"] = analytical::name(total.bound);
      add_lost(one, total);
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
              {"programs",
               list_of(profile.programs, [&](const auto& each) { return program_json(c, each); })},
              {"categories", Json::array()},
              {"next", profile.next}};
  for (const ProfileLeftOver& left : profile.left_over) {
    out["left_over"].push_back(
        {{"category", left.category}, {"events", left.events}, {"time_s", left.time.value}});
  }
  for (const CategoryTotal& total : c.categories) {
    add_lost(out["categories"].emplace_back(Json{{"category", total.category}}), total);
  }
  return out;
}

constexpr std::string_view kColumns =
    "group,name,class,tile,launches,line,side,kind,device,time_s,total_s,bound,reference,reference_"
    "s,lost_s,relative,";
constexpr std::string_view kProfileColumns =
    "category,overlaps,median_s,flops,profile_flops,bytes,profile_bytes,registers,"
    "shared_bytes,grid,block,occupancy,";

Json csv_cells(const Comparison& c, const CompareRow& row, std::size_t side) {
  const std::size_t reference = c.references[side];
  Json cells = name_json(c, row);
  cells.update(cell_json(c, row, side));
  if (row.profile) cells.update(counts_json(row));
  cells["kind"] = name(c.sides[side].kind);
  cells["device"] = c.sides[side].device;
  cells["reference"] = c.sides[reference].name;
  if (row.cells[reference]) cells["reference_s"] = row.cells[reference]->time.value;
  cells["lost_s"] = json_number(seconds(lost(c, row, side)));
  cells["relative"] = json_number(relative(c, row, side));
  return cells;
}

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
                                 duration(total.time.value)};
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
  cells.push_back(duration(total.reference.value));
  cells.push_back(signed_duration(total.difference()));
  cells.push_back(total.reference.value > 0 ? signed_percent(total.difference() / total.reference)
                                            : "");
  cells.push_back(duration(total.lost.value));
  cells.push_back(total.median_ape ? percent(*total.median_ape) : "");
  return cells;
}

std::vector<std::string> total_row(const Comparison& c, const std::string& group, std::size_t rows,
                                   std::size_t side, const SideTotal& total) {
  std::vector<std::string> cells = time_cells(c, group, rows, side, total);
  if (says_energy(c)) cells.push_back(total.energy ? si(total.energy->value, "J") : "");
  return cells;
}

std::string totals(const Comparison& c, std::size_t top) {
  std::vector<Column> columns{"total",   {"side", 32}, ">rows timed", ">time",
                              ">shared", ">of time %", ">reference",  ">difference",
                              ">%",      ">lost",      ">median %"};
  if (says_energy(c)) columns.push_back(">energy");
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
      out += fmt::format("run     {}: {} as a whole ({})", group.name,
                         duration(group.whole[i]->value), c.sides[i].name);
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
  TextTable table({{"side", 32},
                   "blames",
                   ">rows",
                   ">time",
                   ">reference",
                   ">difference",
                   ">lost",
                   ">of lost %"});
  bool any = false;
  for (std::size_t i = 0; i < c.sides.size(); ++i) {
    for (const BoundTotal& total : c.blamed[i]) {
      any = true;
      const Seconds all = c.totals[i].lost;
      table.add({c.sides[i].name, std::string(analytical::name(total.bound)),
                 std::to_string(total.rows), duration(total.time.value),
                 duration(total.reference.value), signed_duration(total.time - total.reference),
                 duration(total.lost.value), all.value > 0 ? percent(total.lost / all) : ""});
    }
  }
  return any ? "\n" + table.render() : "";
}

// A column of the table of rows, and its cells.
struct RowColumn {
  Column column;
  std::function<std::string(const CompareRow&)> cell;
};
using RowColumns = std::vector<RowColumn>;

bool any_row(const Comparison& c, const std::function<bool(const CompareRow&)>& says) {
  return std::ranges::any_of(c.rows, says);
}

// The reference first, each side after the one it is compared with.
std::vector<std::size_t> sides_shown(const Comparison& c) {
  std::vector<std::size_t> order{c.reference};
  const auto show = [&](std::size_t side) {
    if (std::ranges::find(order, side) == order.end()) order.push_back(side);
  };
  for (std::size_t i = 0; i < c.sides.size(); ++i) {
    if (c.totals[i].rows == 0) continue;
    show(c.references[i]);
    show(i);
  }
  return order;
}

void add_side(const Comparison& c, std::size_t side, RowColumns& columns) {
  const auto any = [&](const auto& has) {
    return any_row(c,
                   [&](const CompareRow& row) { return row.cells[side] && has(*row.cells[side]); });
  };
  const auto add = [&](Column column, const char* none, const auto& text) {
    columns.push_back({std::move(column), [side, none, text](const CompareRow& row) {
                         return row.cells[side] ? text(*row.cells[side]) : none;
                       }});
  };
  add(">" + c.sides[side].name, "-",
      [](const CompareCell& cell) { return duration(cell.time.value); });
  if (side != c.reference) {
    columns.push_back({">lost", [&c, side](const CompareRow& row) {
                         const auto time = lost(c, row, side);
                         return time ? signed_duration(*time) : "";
                       }});
    columns.push_back({">%", [&c, side](const CompareRow& row) {
                         const auto share = relative(c, row, side);
                         return share ? signed_percent(*share) : "";
                       }});
  }
  if (any([](const CompareCell& cell) { return cell.bound.has_value(); })) {
    add("bound", "", bound_name);
  }
  if (any([](const CompareCell& cell) { return cell.correction.has_value(); })) {
    add(kCorrectionTitle, "",
        [](const CompareCell& cell) { return correction_cell(cell.correction); });
  }
}

// How a GPU's kernels were launched, as the profile states it.
void add_launch(RowColumns& columns) {
  using measured::XplaneLaunch;
  const auto add = [&](Column column, const auto& text) {
    columns.push_back({std::move(column), [text](const CompareRow& row) {
                         return row.profile->launch ? text(*row.profile->launch) : "";
                       }});
  };
  add(">regs", [](const XplaneLaunch& of) { return std::to_string(of.registers); });
  add(">shared B", [](const XplaneLaunch& of) { return count(of.shared_bytes); });
  add("grid", [](const XplaneLaunch& of) { return of.grid; });
  add("block", [](const XplaneLaunch& of) { return of.block; });
  add(">occ %", [](const XplaneLaunch& of) { return percent(of.occupancy); });
}

// The median and Tilecast's counts; if the profile has counts, also its category and counts.
void add_profile(const Comparison& c, RowColumns& columns) {
  const bool counted = any_row(c, [](const CompareRow& row) {
    return row.profile && (row.profile->profile_flops || row.profile->profile_bytes);
  });
  const auto add = [&](Column column, const auto& text) {
    columns.push_back(
        {std::move(column), [text](const CompareRow& row) { return text(*row.profile); }});
  };
  using Count = std::optional<double> ProfileCounts::*;
  const auto add_count = [&](const char* title, Count ours, Count theirs) {
    add(title, [=](const ProfileCounts& of) { return millions(of.*ours); });
    if (!counted) return;
    add(">profile", [=](const ProfileCounts& of) { return millions(of.*theirs); });
    add("", [=](const ProfileCounts& of) { return mark(of.*ours, of.*theirs); });
  };
  if (counted) add({"category", 24}, [](const ProfileCounts& of) { return of.category; });
  add(">median", [](const ProfileCounts& of) { return duration(of.median.value); });
  add_count(">Mflop", &ProfileCounts::flops, &ProfileCounts::profile_flops);
  add_count(">MB", &ProfileCounts::bytes, &ProfileCounts::profile_bytes);
  if (any_row(c, [](const CompareRow& row) { return row.profile && row.profile->launch; })) {
    add_launch(columns);
  }
}

// Those that have values.
RowColumns row_columns(const Comparison& c) {
  RowColumns columns;
  const auto group = [&c](const CompareRow& row) { return c.groups[row.group].name; };
  if (c.groups.size() > 1 && any_row(c, [&](const auto& row) { return row.name != group(row); })) {
    columns.push_back({{"in", 40}, group});
  }
  columns.push_back({{"kernel", 72}, &CompareRow::name});
  columns.push_back({{"class", 24}, &CompareRow::op_class});
  if (any_row(c, [](const CompareRow& row) { return row.launches != 1; })) {
    columns.push_back({">launches", [](const CompareRow& row) { return count(row.launches); }});
  }
  if (any_row(c, [](const CompareRow& row) { return !row.tile.empty(); })) {
    columns.push_back({{"tile", 40}, &CompareRow::tile});
  }
  for (const std::size_t side : sides_shown(c)) add_side(c, side, columns);
  if (c.profile) add_profile(c, columns);
  return columns;
}

std::string rows(const Comparison& c, std::size_t top) {
  const std::size_t shown = std::min(top, c.rows.size());
  const RowColumns columns = row_columns(c);
  std::vector<Column> heads;
  for (const RowColumn& one : columns) heads.push_back(one.column);
  TextTable table(std::move(heads));
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<std::string> cells;
    for (const RowColumn& one : columns) cells.push_back(one.cell(c.rows[i]));
    table.add(std::move(cells));
  }
  std::string out = "\n" + table.render();
  Seconds rest;
  for (std::size_t i = shown; i < c.rows.size(); ++i) {
    const auto time = lost(c, c.rows[i], c.sorted_by);
    if (time) rest += Seconds{std::abs(time->value)};
  }
  if (shown < c.rows.size()) {
    out += fmt::format("... {} more rows, {} lost by {}  (--all shows them)\n",
                       c.rows.size() - shown, duration(rest.value), c.sides[c.sorted_by].name);
  }
  return out + "times: of one launch; lost: (side - reference) x launches\n";
}

std::string unmatched(const Comparison& c, std::size_t top) {
  if (c.unmatched.empty()) return "";
  Seconds sum;
  for (const Unmatched& row : c.unmatched) sum += row.time;
  std::string out = fmt::format("\nmeasured, but no kernel of these programs: {}, {}\n",
                                c.unmatched.size(), duration(sum.value));
  const std::size_t shown = std::min(top, c.unmatched.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Unmatched& row = c.unmatched[i];
    out += fmt::format("  {}  {}  ({} line {})\n", duration(row.time.value), row.name, row.set,
                       row.line);
  }
  if (shown < c.unmatched.size()) out += fmt::format("  ... {} more\n", c.unmatched.size() - shown);
  return out;
}

}  // namespace

std::string compare_csv(const Comparison& c) {
  if (c.difference) return difference_csv(*c.difference);
  if (c.rows.empty()) return "";
  const std::string header = fmt::format(
      "{}{}{}", kColumns, c.rows.front().profile ? kProfileColumns : "", kCorrectionColumns);
  std::string out = header + "\n";
  for (const CompareRow& row : c.rows) {
    for (std::size_t side = 0; side < c.sides.size(); ++side) {
      if (row.cells[side]) out += csv_row(csv_cells(c, row, side), header);
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
  document["groups"] = list_of(c.groups, [&](const auto& group) { return group_json(c, group); });
  document["totals"] = totals_json(c, c.totals);
  document["blamed"] = blamed_json(c);
  document["rows"] = list_of(c.rows, [&](const auto& row) { return row_json(c, row); });
  document["unmatched"] = Json::array();
  for (const Unmatched& row : c.unmatched) {
    document["unmatched"].push_back(
        {{"set", row.set}, {"name", row.name}, {"line", row.line}, {"time_s", row.time.value}});
  }
  if (c.difference) document["difference"] = difference_json(*c.difference);
  document["notes"] = c.notes;
  return json_text(document);
}

std::string compare_text(const Comparison& c, const CompareTableOptions& options) {
  std::string out;
  if (c.difference) {
    out = difference_text(*c.difference, options.top);
  } else {
    out = header(c, options.top) + (c.profile ? "" : "\n");
    out += c.profile ? blamed(c) + program_table(c, options.top) + category_table(c, options.top)
                     : totals(c, options.top) + whole_runs(c) + blamed(c);
    out += rows(c, options.top) + unmatched(c, options.top);
  }
  for (const std::string& note : c.notes) out += fmt::format("note: {}\n", note);
  return out + (c.profile ? profile_footer(c) : "");
}

}  // namespace tilecast::sim::views

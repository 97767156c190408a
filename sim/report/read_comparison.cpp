#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "measured/csv.h"
#include "sim/report/readers.h"

namespace tilecast::sim::report {
namespace {

std::size_t side_called(const PairedResult& result, const Value& holder, std::string_view key) {
  const std::string name = holder.text(key);
  const auto found = std::ranges::find(result.sides, name, &PairedSide::name);
  if (found == result.sides.end()) {
    throw holder.error(fmt::format("{}: there is no side '{}'", key, name));
  }
  return static_cast<std::size_t>(found - result.sides.begin());
}

PairedRow read_row(const Value& json, const PairedResult& result) {
  PairedRow row{.group = json.text("group"),
                .name = json.text("name"),
                .op_class = json.text("class"),
                .tile = json.text("tile"),
                .launches = size_of(json, "launches"),
                .times = std::vector<std::optional<PairedTime>>(result.sides.size())};
  const auto profile = json.object_if("profile");
  row.overlaps = profile && profile->truth("overlaps");
  for (const Value& time : json.list("times")) {
    row.times[side_called(result, time, "side")] =
        PairedTime{size_of(time, "time_s"), time.text_if("bound"), interval_of(time)};
  }
  return row;
}

// What the rows do not say: times without a kernel, and rows that no total counts.
void add_notes(const Value& root, PairedResult& result) {
  constexpr std::size_t kNamed = 8;
  const std::vector<Value> unmatched = root.list_if("unmatched");
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, unmatched.size()); ++i) {
    names += (i == 0 ? "" : ", ") + unmatched[i].text("name");
  }
  if (!unmatched.empty()) {
    result.notes.push_back(
        fmt::format("{} measured times are of no kernel of the programs and not in the rows: {}{}",
                    unmatched.size(), names, unmatched.size() > kNamed ? ", ..." : ""));
  }
  const auto overlapping = std::ranges::count(result.rows, true, &PairedRow::overlaps);
  if (overlapping > 0) {
    result.notes.push_back(fmt::format(
        "{} rows are transfers beside other rows: no sum of microseconds holds them", overlapping));
  }
}

constexpr std::size_t kFixedColumns = 7;  // of evaluate --rows, before those of the models
constexpr std::string_view kFixed[kFixedColumns] = {"set",   "line", "work",       "class",
                                                    "split", "tile", "measured_ns"};
constexpr double kSecondsPerNanosecond = 1e-9;

std::optional<double> seconds_cell(const measured::CsvTable& table, const measured::CsvRow& row,
                                   const std::string& column) {
  const std::string_view cell = table.cell(row, column);
  if (cell.empty()) return std::nullopt;
  const auto value = base::parse_number(cell);
  if (!value || *value < 0) {
    throw Error(fmt::format("{}: got '{}', expected nanoseconds", table.where(row, column),
                            base::printable(cell)));
  }
  return *value * kSecondsPerNanosecond;
}

// The models of the columns "NAME ns"; those of intervals are "NAME low ns" and "NAME high ns".
std::vector<std::string> models_of(const measured::CsvTable& table) {
  constexpr std::string_view kUnit = " ns";
  std::vector<std::string> names;
  for (std::size_t i = kFixedColumns; i < table.columns.size(); ++i) {
    const std::string& column = table.columns[i];
    if (!column.ends_with(kUnit)) {
      throw Error(fmt::format("{}:1: column '{}': expected times of a model, as in 'hybrid ns'",
                              table.file, base::printable(column)));
    }
    const std::string name = column.substr(0, column.size() - kUnit.size());
    const auto is_of = [&](std::string_view end) {
      return name.ends_with(end) &&
             std::ranges::find(names, name.substr(0, name.size() - end.size())) != names.end();
    };
    if (!is_of(" low") && !is_of(" high")) names.push_back(name);
  }
  return names;
}

PairedRow read_evaluated_row(const measured::CsvTable& table, const measured::CsvRow& row,
                             const std::vector<std::string>& models) {
  const auto text = [&](std::string_view column) { return std::string(table.cell(row, column)); };
  const auto measured_s = seconds_cell(table, row, "measured_ns");
  PairedRow out{.group = text("set"),
                .name = text("work"),
                .op_class = text("class"),
                .tile = text("tile"),
                .split = text("split"),
                .times = {}};
  out.times.push_back(measured_s ? std::optional(PairedTime{*measured_s, "", {}}) : std::nullopt);
  for (const std::string& model : models) {
    const auto time = seconds_cell(table, row, model + " ns");
    const auto low = seconds_cell(table, row, model + " low ns");
    const auto high = seconds_cell(table, row, model + " high ns");
    out.times.push_back(time ? std::optional(PairedTime{*time, "", {}}) : std::nullopt);
    if (time && low && high) out.times.back()->interval = TimeInterval{*low, *high};
  }
  return out;
}

}  // namespace

PairedResult read_comparison(const Value& root) {
  PairedResult result{.source = root.file(), .what = "compare"};
  const std::vector<Value> sides = root.list("sides");
  for (const Value& side : sides) {
    result.sides.push_back({side.text("name"), side.text("kind"), side.text("device")});
  }
  for (std::size_t i = 0; i < sides.size(); ++i) {
    result.sides[i].against = side_called(result, sides[i], "against");
  }
  for (const Value& row : root.list("rows")) result.rows.push_back(read_row(row, result));
  for (const Value& note : root.list("notes")) result.notes.push_back(note.text());
  add_notes(root, result);
  return result;
}

PairedResult read_evaluated_rows(const base::SourceText& text) {
  const measured::CsvTable table = measured::read_csv(text);
  for (std::size_t i = 0; i < kFixedColumns; ++i) {
    if (i < table.columns.size() && table.columns[i] == kFixed[i]) continue;
    throw Error(text.describe(
        0, "neither a result in JSON (--format json) nor the rows of tilecast evaluate --rows"));
  }
  const std::vector<std::string> models = models_of(table);
  PairedResult result{.source = text.file(), .what = "evaluate"};
  result.sides.push_back({"measured", "measured", ""});
  for (const std::string& model : models) result.sides.push_back({model, "model", ""});
  for (const measured::CsvRow& row : table.rows) {
    result.rows.push_back(read_evaluated_row(table, row, models));
  }
  return result;
}

}  // namespace tilecast::sim::report

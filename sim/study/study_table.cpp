#include "sim/study/study_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/source_text.h"
#include "base/text.h"
#include "search/pareto.h"

namespace tilecast::sim {
namespace {

// The table's column for a number of this name; an axis column has its unit appended.
std::optional<std::size_t> column_of(const Study& study, const measured::CsvTable& table,
                                     std::string_view name) {
  constexpr std::size_t kBeforeAxes = 2;  // point, device
  for (std::size_t i = 0; i < study.axes.size(); ++i) {
    if (study.axes[i].key == name) return kBeforeAxes + i;
  }
  return table.find(name);
}

std::string short_cell(std::string_view column, const std::string& cell) {
  const auto number = base::parse_number(cell);
  constexpr std::string_view kPlain[] = {"point", "feasible", "best"};
  if (!number || std::ranges::find(kPlain, column) != std::end(kPlain)) return cell;
  if (column.ends_with("_s") && *number < 1e5) return views::duration(*number);
  return views::compact(*number);
}

std::string short_title(const std::string& column) {
  if (!column.ends_with("_s")) return column;
  return column.substr(0, column.size() - 2);
}

}  // namespace

void check_objective(const Study& study, const StudyObjective& objective) {
  std::vector<std::string_view> known = study_result_names();
  for (const StudyFormula& derived : study.derived) known.push_back(derived.name);
  for (const StudyAxis& axis : study.axes) {
    if (axis.numeric) known.push_back(axis.key);
  }
  if (std::ranges::find(known, objective.column) != known.end()) return;
  const std::string near = base::nearest(objective.column, known);
  throw UsageError("{}: got '{}', expected a result, a derived quantity or an axis{}", study.file,
                   objective.column, near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

measured::CsvTable pareto_rows(const Study& study, const measured::CsvTable& table,
                               std::span<const StudyObjective> objectives) {
  struct Group {
    std::vector<std::size_t> rows;
    std::vector<std::vector<double>> points;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const measured::CsvRow& row = table.rows[i];
    if (table.cell(row, "feasible") != "1") continue;
    Group& group =
        groups[{std::string(table.cell(row, "program")), std::string(table.cell(row, "model"))}];
    group.rows.push_back(i);
    std::vector<double>& point = group.points.emplace_back();
    for (const StudyObjective& objective : objectives) {
      const auto column = column_of(study, table, objective.column);
      TC_CHECK(column, "objectives were checked");
      const double value = base::parse_number(row.cells[*column]).value_or(std::nan(""));
      point.push_back(objective.larger ? -value : value);
    }
  }
  std::vector<std::size_t> kept;
  for (const auto& [_, group] : groups) {
    for (const std::size_t i : search::pareto_front(group.points)) kept.push_back(group.rows[i]);
  }
  std::ranges::sort(kept);
  measured::CsvTable front{table.file, table.columns, {}};
  for (const std::size_t row : kept) front.rows.push_back(table.rows[row]);
  return front;
}

measured::CsvTable short_table(const Study& study, const measured::CsvTable& table) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string& column = table.columns[i];
    const bool same_everywhere = column == "model"
                                     ? study.models.size() == 1
                                     : column == "device" && study.devices.size() == 1;
    const bool says_something = std::ranges::any_of(table.rows, [&](const measured::CsvRow& row) {
      return !row.cells[i].empty() && !(column == "skipped_kernels" && row.cells[i] == "0");
    });
    if (column.starts_with("share_") || column == "host_dispatch_s") continue;
    if (!same_everywhere && says_something) shown.push_back(i);
  }
  measured::CsvTable out{table.file, {}, {}};
  for (const std::size_t i : shown) out.columns.push_back(short_title(table.columns[i]));
  for (const measured::CsvRow& row : table.rows) {
    measured::CsvRow& cells = out.rows.emplace_back();
    for (const std::size_t i : shown) {
      const bool program = table.columns[i] == "program";
      cells.cells.push_back(program ? std::filesystem::path(row.cells[i]).filename().string()
                                    : short_cell(table.columns[i], row.cells[i]));
    }
  }
  return out;
}

std::vector<std::pair<std::string, std::vector<std::string>>> study_lists(
    const Study& study, const measured::CsvTable& table) {
  std::vector<std::pair<std::string, std::vector<std::string>>> lists{{"objectives", {}},
                                                                      {"axes", {}}};
  for (const StudyObjective& objective : study.objectives) {
    const auto column = column_of(study, table, objective.column);
    lists[0].second.push_back((objective.larger ? "-" : "") + table.columns[column.value()]);
  }
  for (const StudyAxis& axis : study.axes) {
    lists[1].second.push_back(table.columns[column_of(study, table, axis.key).value()]);
  }
  return lists;
}

std::vector<StudyObjective> named_objectives(const std::string& columns) {
  std::vector<StudyObjective> objectives;
  std::size_t begin = 0;
  while (begin <= columns.size()) {
    const std::size_t end = std::min(columns.find(',', begin), columns.size());
    std::string name(base::trim(std::string_view(columns).substr(begin, end - begin)));
    const bool larger = name.starts_with('-');
    if (larger) name.erase(0, 1);
    objectives.push_back({std::move(name), larger});
    begin = end + 1;
  }
  return objectives;
}

std::vector<StudyObjective> front_objectives(const Study& study, const std::string& pareto,
                                             bool front) {
  std::vector<StudyObjective> objectives;
  if (!pareto.empty()) objectives = named_objectives(pareto);
  if (front) objectives = study.objectives;
  if (front && objectives.empty()) {
    throw UsageError("{}: --front: the study has no objectives", study.file);
  }
  for (const StudyObjective& objective : objectives) check_objective(study, objective);
  return objectives;
}

}  // namespace tilecast::sim

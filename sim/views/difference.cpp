// The difference of two runs as text, CSV and JSON (sim/views/compare.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/scopes.h"
#include "sim/views/compare.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;

// A number of both runs; its name ends in its unit, or it is a share.
struct TotalChange {
  std::string name;
  std::optional<double> before, after;
};

std::vector<TotalChange> total_changes(const Difference& d) {
  std::vector<TotalChange> totals{{"time_s", d.before.time.value, d.after.time.value},
                                  {"timeline_s", d.before.timeline.value, d.after.timeline.value}};
  for (const auto& numbers : {work_numbers(), memory_numbers(), energy_numbers()}) {
    for (const ProgramNumber& number : numbers) {
      totals.push_back({std::string(number.name), number.of(d.before), number.of(d.after)});
    }
  }
  return totals;
}

// "work_FLOP" as {"work", "FLOP"}; a share has no unit.
std::pair<std::string, std::string> name_and_unit(const std::string& name) {
  for (const char* unit : {"_per_s", "_s", "_FLOP", "_bytes", "_J", "_W"}) {
    if (name.ends_with(unit)) return {name.substr(0, name.size() - std::string(unit).size()), unit};
  }
  return {name, ""};
}

// Memory in binary units, as `simulate` shows it; shares in %.
std::string value_text(const std::optional<double>& value, const TotalChange& of) {
  const std::string unit = name_and_unit(of.name).second;
  if (!value) return "";
  if (unit.empty()) return percent(*value) + " %";
  if (of.name.find("memory_") == std::string::npos || of.name.starts_with("main")) {
    return si(*value, unit == "_bytes" ? "B" : unit == "_per_s" ? "/s" : unit.substr(1));
  }
  return binary_size(*value);
}

std::string percent_change(double before, double after) {
  return before > 0 ? signed_percent(after / before - 1) : "";
}

// Cells of a row: name, both times, the change in time and in %.
std::vector<std::string> change_cells(std::string name, Seconds before, Seconds after) {
  return {std::move(name), duration(before), duration(after), signed_duration(after - before),
          percent_change(before.value, after.value)};
}

// Long names of sides stand in the lines above the tables alone.
std::pair<std::string, std::string> side_titles(const Difference& d) {
  constexpr std::size_t kMost = 20;
  const bool fit = d.before_label.size() <= kMost && d.after_label.size() <= kMost;
  return fit ? std::pair(d.before_label, d.after_label)
             : std::pair<std::string, std::string>("before", "after");
}

std::vector<Column> change_columns(const char* first, const Difference& d) {
  const auto [before, after] = side_titles(d);
  return {{first, 60}, ">" + before, ">" + after, ">change", ">%"};
}

std::string total_table(const Difference& d) {
  TextTable table(change_columns("total", d));
  for (const TotalChange& total : total_changes(d)) {
    const bool said = total.name == "timeline_s" && d.before.timeline == d.before.time &&
                      d.after.timeline == d.after.time;
    const bool same = total.name.starts_with("memory_capacity") && total.before == total.after;
    if (said || same || (!total.before && !total.after)) continue;
    auto [name, unit] = name_and_unit(total.name);
    std::ranges::replace(name, '_', ' ');
    if (name == "main memory") name += " traffic";
    std::string change, relative;
    if (total.before && total.after && total.before != total.after) {
      const double by = *total.after - *total.before;
      change = unit.empty() ? signed_percent(by) + " points"
                            : (by > 0 ? "+" : "") + value_text(by, total);
      if (!unit.empty()) relative = percent_change(*total.before, *total.after);
    }
    table.add({std::move(name), value_text(total.before, total), value_text(total.after, total),
               std::move(change), std::move(relative)});
  }
  return table.render() + "\n";
}

std::string resource_table(const Difference& d) {
  TextTable table(change_columns("resource", d));
  for (const ResourceChange& one : d.resources) {
    table.add(change_cells(one.name, one.before, one.after));
  }
  return table.render() +
         "what each resource adds to the time; a column adds up to the time of its side\n\n";
}

std::string layer_table(const Difference& d) {
  constexpr std::size_t kLayers = 12;
  const auto layers = scope_changes(d.before.kernels, d.after.kernels, kLayers);
  if (layers.size() < 2) return "";
  TextTable table(change_columns("layer", d));
  for (const ScopeTime& one : layers) {
    table.add(change_cells(std::string(2 * one.depth, ' ') + one.name, one.before, one.time));
  }
  return table.render() + "\n";
}

// "4", or "4 -> 2" where the sides differ; "" for a side without.
std::string both(const std::string& before, const std::string& after) {
  if (before == after || after.empty()) return before;
  return before.empty() ? after : fmt::format("{} -> {}", before, after);
}

struct KernelTexts {
  std::string name, launches, bound;
};

KernelTexts texts_of(const Simulation& run, const std::optional<std::size_t>& at, double launches) {
  if (!at) return {};
  const SimulatedKernel& kernel = run.kernels[*at];
  return {kernel.name, count(launches),
          kernel.skipped ? "skipped" : std::string(analytical::name(kernel.estimate->bound))};
}

// Rows whose kernels share their estimates, together.
struct AlikeChanges {
  KernelChange sum;
  double was = 0, is = 0;  // launches
  std::size_t rows = 0;
};

std::vector<AlikeChanges> alike(const Difference& d) {
  std::vector<AlikeChanges> groups;
  std::map<std::tuple<const void*, const void*>, std::size_t> known;
  const auto identity = [](const Simulation& run, const std::optional<std::size_t>& at) {
    return at ? run.kernels[*at].estimate.identity() : nullptr;
  };
  for (const KernelChange& row : d.kernels) {
    const auto [at, fresh] = known.emplace(
        std::tuple(identity(d.before, row.was), identity(d.after, row.is)), groups.size());
    if (fresh) groups.push_back({{{}, row.was, row.is, {}}});
    AlikeChanges& group = groups[at->second];
    group.sum.before += row.before;
    group.sum.after += row.after;
    for (std::size_t b = 0; b < row.by.size(); ++b) group.sum.by[b] += row.by[b];
    if (row.was) group.was += d.before.kernels[*row.was].multiplicity;
    if (row.is) group.is += d.after.kernels[*row.is].multiplicity;
    ++group.rows;
  }
  std::ranges::stable_sort(groups, [](const AlikeChanges& a, const AlikeChanges& b) {
    return std::abs(a.sum.change().value) > std::abs(b.sum.change().value);
  });
  return groups;
}

// The resource that changed most in the direction of the kernel: "hbm_read -8.2 ms".
std::string most_by(const KernelChange& row) {
  const double sign = row.change().value < 0 ? -1 : 1;
  const auto most = std::ranges::max_element(
      row.by, {}, [sign](const Seconds& part) { return sign * part.value; });
  if (sign * most->value <= 0) return "";
  return fmt::format("{} {}",
                     analytical::name(static_cast<analytical::Bound>(most - row.by.begin())),
                     signed_duration(*most));
}

std::string kernel_table(const Difference& d, std::size_t top) {
  std::vector<Column> columns = change_columns("kernel", d);
  columns.insert(columns.begin() + 1, {">launches", 24});
  columns.insert(columns.end(), {"bound", "mostly"});
  TextTable table(std::move(columns));
  const std::vector<AlikeChanges> groups = alike(d);
  const std::size_t shown = std::min(top, groups.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const AlikeChanges& group = groups[i];
    const KernelTexts was = texts_of(d.before, group.sum.was, group.was);
    const KernelTexts is = texts_of(d.after, group.sum.is, group.is);
    const std::string more = group.rows > 1 ? fmt::format(" (+{})", group.rows - 1) : "";
    std::vector<std::string> cells =
        change_cells(both(was.name, is.name) + more, group.sum.before, group.sum.after);
    if (!group.sum.was) cells[1] = "-";
    if (!group.sum.is) cells[2] = "-";
    cells.insert(cells.begin() + 1, both(was.launches, is.launches));
    cells.insert(cells.end(), {both(was.bound, is.bound), most_by(group.sum)});
    table.add(std::move(cells));
  }
  Seconds rest;
  for (std::size_t i = shown; i < groups.size(); ++i) rest += groups[i].sum.change();
  std::string out = table.render();
  if (shown < groups.size()) {
    out += fmt::format("... {} more rows, {} in all  (--all shows them)\n", groups.size() - shown,
                       signed_duration(rest));
  }
  return out + "times: of all launches; -: not in this run\n";
}

Json times_json(Seconds before, Seconds after) {
  return {
      {"before_s", before.value}, {"after_s", after.value}, {"change_s", (after - before).value}};
}

Json change_json(const Difference& d, const KernelChange& row) {
  const SimulatedKernel& any = row.is ? d.after.kernels[*row.is] : d.before.kernels[*row.was];
  Json out = {{"opcode", std::string(ir::name(any.opcode))}, {"op_name", any.op_name}};
  out.update(times_json(row.before, row.after));
  const auto add_side = [&](const Simulation& run, const std::optional<std::size_t>& at,
                            const std::string& side) {
    const SimulatedKernel* kernel = at ? &run.kernels[*at] : nullptr;
    out["name_" + side] = kernel != nullptr ? Json(kernel->name) : Json();
    out["launches_" + side] = kernel != nullptr ? Json(kernel->multiplicity) : Json();
    out["bound_" + side] = kernel != nullptr && !kernel->skipped
                               ? Json(std::string(analytical::name(kernel->estimate->bound)))
                               : Json();
  };
  add_side(d.before, row.was, "before");
  add_side(d.after, row.is, "after");
  for (std::size_t b = 0; b < row.by.size(); ++b) {
    if (row.by[b].value == 0) continue;
    out["changes_s"][std::string(analytical::name(static_cast<analytical::Bound>(b)))] =
        row.by[b].value;
  }
  return out;
}

Json side_json(const Simulation& run, const std::string& label) {
  return {{"name", label}, {"file", run.file}, {"program", run.program}, {"device", run.device}};
}

}  // namespace

Json difference_json(const Difference& d) {
  return {{"before", side_json(d.before, d.before_label)},
          {"after", side_json(d.after, d.after_label)},
          {"totals", list_of(total_changes(d),
                             [](const TotalChange& total) {
                               return Json{{"name", total.name},
                                           {"before", json_number(total.before)},
                                           {"after", json_number(total.after)}};
                             })},
          {"resources", list_of(d.resources,
                                [](const ResourceChange& one) {
                                  Json out = {{"name", one.name}};
                                  out.update(times_json(one.before, one.after));
                                  return out;
                                })},
          {"layers", list_of(scope_changes(d.before.kernels, d.after.kernels, std::size_t(-1)),
                             [](const ScopeTime& one) {
                               Json out = {{"name", one.name}, {"depth", one.depth}};
                               out.update(times_json(one.before, one.time));
                               return out;
                             })},
          {"kernels",
           list_of(d.kernels, [&](const KernelChange& row) { return change_json(d, row); })}};
}

std::string difference_csv(const Difference& d) {
  constexpr std::string_view kColumns =
      "of,name,depth,before_s,after_s,change_s,name_after,op_name,launches_before,launches_after,"
      "bound_before,bound_after";
  const Json document = difference_json(d);
  std::string out = std::string(kColumns) + "\n";
  Json time = times_json(d.before.time, d.after.time);
  time.update({{"of", "total"}, {"name", "time"}});
  out += csv_row(time, kColumns);
  for (const char* list : {"resources", "layers", "kernels"}) {
    for (Json row : document[list]) {
      row["of"] = std::string(list).substr(0, std::string(list).size() - 1);
      if (!row.contains("name")) row["name"] = row["name_before"];
      out += csv_row(row, kColumns);
    }
  }
  return out;
}

std::string difference_text(const Difference& d, std::size_t top) {
  const auto side = [](const char* word, const Simulation& run, const std::string& label) {
    std::string out =
        fmt::format("{}    {}: {}", word, label, run.file.empty() ? run.program : run.file);
    if (run.device != label) out += " on " + run.device;
    if (!run.model.empty()) out += ", " + run.model;
    if (run.interval) {
      out += fmt::format(", {} to {} (90 %)", duration(run.interval->low),
                         duration(run.interval->high));
    }
    return out + "\n";
  };
  return side("before", d.before, d.before_label) + side("after ", d.after, d.after_label) + "\n" +
         total_table(d) + resource_table(d) + layer_table(d) + kernel_table(d, top);
}

}  // namespace tilecast::sim::views

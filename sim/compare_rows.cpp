#include "sim/compare_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"

namespace tilecast::sim {
namespace {

using Kind = CompareSide::Kind;

// Compilers write the largest integer for "unknown"; this bound is weeks for one kernel.
constexpr double kUnknownCycles = 1e15;

template <class T>
void put(std::vector<std::optional<T>>& list, std::size_t at, T value) {
  if (list.size() <= at) list.resize(at + 1);
  list[at] = std::move(value);
}

}  // namespace

ComparisonBuilder::ComparisonBuilder(const CompareSetup& setup) : setup_(&setup) {
  TC_CHECK(!setup.columns.empty(), "a comparison has a model");
  for (const ModelColumn& column : setup.columns) {
    comparison_.sides.push_back({.name = column.name,
                                 .kind = Kind::kModel,
                                 .model = column.model,
                                 .device = setup.devices[column.device].name});
  }
}

std::size_t ComparisonBuilder::add_group(std::string name, std::string file) {
  comparison_.groups.push_back({.name = std::move(name), .file = std::move(file)});
  return comparison_.groups.size() - 1;
}

std::size_t ComparisonBuilder::row(std::size_t group, const std::string& key, CompareRow row) {
  const auto [known, is_new] =
      row_of_.emplace(fmt::format("{}\n{}", group, key), comparison_.rows.size());
  if (is_new) {
    row.group = group;
    comparison_.rows.push_back(std::move(row));
  }
  return known->second;
}

void ComparisonBuilder::set(std::size_t row, std::size_t side, CompareCell cell) {
  put(comparison_.rows[row].cells, side, cell);
}

bool ComparisonBuilder::has(std::size_t row, std::size_t side) const {
  const auto& cells = comparison_.rows[row].cells;
  return side < cells.size() && cells[side].has_value();
}

void ComparisonBuilder::set_whole(std::size_t group, std::size_t side, Seconds time) {
  put(comparison_.groups[group].whole, side, time);
}

std::size_t ComparisonBuilder::compiler() {
  const auto found = std::ranges::find(comparison_.sides, Kind::kCompiler, &CompareSide::kind);
  const auto at = static_cast<std::size_t>(found - comparison_.sides.begin());
  if (found == comparison_.sides.end()) {
    comparison_.sides.push_back({.name = "compiler", .kind = Kind::kCompiler});
  }
  return at;
}

std::size_t ComparisonBuilder::measured(const std::string& name, std::size_t device) {
  std::vector<CompareSide>& sides = comparison_.sides;
  const auto found = std::ranges::find_if(sides, [&](const CompareSide& side) {
    return side.kind == Kind::kMeasured && side.device == name;
  });
  const auto at = static_cast<std::size_t>(found - sides.begin());
  if (found == sides.end()) {
    sides.push_back({.name = "measured", .kind = Kind::kMeasured, .device = name});
  }
  for (std::size_t column = 0; column < setup_->columns.size(); ++column) {
    if (setup_->columns[column].device == device) sides[column].own = at;
  }
  return at;
}

void ComparisonBuilder::note(std::string what) {
  if (std::ranges::find(comparison_.notes, what) == comparison_.notes.end()) {
    comparison_.notes.push_back(std::move(what));
  }
}

void ComparisonBuilder::note_samples(const measured::SampleSet& samples,
                                     const hwdesc::Device& device) {
  if (!samples.faults.empty()) {
    note(fmt::format("{}: {} left out: {}", samples.name, count_of(samples.faults.size(), "row"),
                     fault_summary(samples.faults)));
  }
  if (samples.samples.empty()) {
    note(fmt::format("{}: no row to compare on {}", samples.name, device.name));
  } else if (!is_measured_on(device, samples.measured_on)) {
    note(fmt::format("{}: measured on {}, compared with a model of {}", samples.name,
                     samples.measured_on, device.name));
  }
}

// Programs with equal names are named by their files.
void ComparisonBuilder::name_groups() {
  std::map<std::string, int> counts;
  for (const CompareGroup& group : comparison_.groups) ++counts[group.name];
  for (CompareGroup& group : comparison_.groups) {
    if (counts[group.name] < 2) continue;
    group.name = std::filesystem::path(group.file).stem().string();
  }
}

void ComparisonBuilder::name_sides() {
  std::vector<CompareSide>& sides = comparison_.sides;
  const auto measured = std::ranges::count(sides, Kind::kMeasured, &CompareSide::kind);
  std::set<std::string> taken;
  for (CompareSide& side : sides) {
    if (side.kind == Kind::kMeasured && measured > 1) side.name += " " + side.device;
    const std::string plain = side.name;
    for (int i = 2; !taken.insert(side.name).second; ++i)
      side.name = fmt::format("{} #{}", plain, i);
  }
}

void ComparisonBuilder::note_opaque(std::size_t side) {
  const auto opaque = [&](const CompareRow& row) {
    return row.cells[side].has_value() && row.cells[side]->opaque;
  };
  const auto first = std::ranges::find_if(comparison_.rows, opaque);
  if (first == comparison_.rows.end()) return;
  const auto count = static_cast<std::size_t>(std::ranges::count_if(comparison_.rows, opaque));
  note(fmt::format("{}: opaque calls in {} ({}{}): bytes of operands and results only",
                   comparison_.sides[side].name, count_of(count, "row"), first->name,
                   count > 1 ? " ..." : ""));
}

void ComparisonBuilder::note_gaps() {
  const std::size_t rows = comparison_.rows.size();
  for (std::size_t i = 0; i < comparison_.sides.size(); ++i) {
    const CompareSide& side = comparison_.sides[i];
    note_opaque(i);
    const auto answered = static_cast<std::size_t>(std::ranges::count_if(
        comparison_.rows, [&](const CompareRow& row) { return row.cells[i].has_value(); }));
    if (answered == rows) continue;
    const std::string gap = fmt::format("{} of {}", rows - answered, count_of(rows, "row"));
    if (side.kind == Kind::kModel) {
      note(fmt::format("{}: {} not answered (outside of its domain, or not on its device)",
                       side.name, gap));
    } else if (side.kind == Kind::kCompiler) {
      note(fmt::format("{}: no estimate of {}", side.name, gap));
    } else {
      note(fmt::format("{}: no time of {}", side.name, gap));
    }
  }
  if (reads_modules_ &&
      std::ranges::count(comparison_.sides, Kind::kCompiler, &CompareSide::kind) == 0) {
    note("no kernel carries the compiler's estimate (window_config.estimated_cycles)");
  }
}

Comparison ComparisonBuilder::finish() {
  for (CompareRow& row : comparison_.rows) row.cells.resize(comparison_.sides.size());
  for (CompareGroup& group : comparison_.groups) group.whole.resize(comparison_.sides.size());
  const bool says_something = std::ranges::any_of(comparison_.rows, [](const CompareRow& row) {
    return std::ranges::any_of(row.cells, [](const auto& cell) { return cell.has_value(); });
  });
  if (!says_something) {
    std::string why = "nothing to compare: no side has a time for any row";
    for (const std::string& note : comparison_.notes) why += "; " + note;
    throw Error(why);
  }
  if (comparison_.sides.size() == 1) {
    note(
        "one side only: another --device, --model, --measured or --trace gives one to hold it "
        "against");
  }
  name_groups();
  name_sides();
  note_gaps();
  return std::move(comparison_);
}

std::optional<Seconds> compiler_time(const ir::Kernel& kernel, Hertz clock) {
  if (!kernel.compiler_tile() || !kernel.compiler_tile()->estimated_cycles) return std::nullopt;
  const double cycles = *kernel.compiler_tile()->estimated_cycles;
  if (!(cycles > 0 && cycles < kUnknownCycles)) return std::nullopt;
  return Cycles{cycles} / clock;
}

analytical::TileConfig compiler_choice(const ir::Kernel& kernel) {
  if (!kernel.compiler_tile()) return {};
  const ir::CompilerTile& tile = *kernel.compiler_tile();
  return {.output = tile.output_bounds, .kernel = tile.kernel_bounds, .input = tile.input_bounds};
}

bool is_opaque(const analytical::Estimate& estimate) {
  return std::ranges::any_of(estimate.flags, [](const std::string& flag) {
    return flag.find("opaque") != std::string::npos;
  });
}

CompareCell cell_of(const measured::Prediction& answer) {
  CompareCell cell{answer.comparable()};
  if (!answer.estimate) return cell;
  cell.opaque = is_opaque(*answer.estimate);
  cell.bound = answer.estimate->bound;
  cell.correction = answer.estimate->correction;
  if (!cell.correction) return cell;
  const Seconds one = answer.estimate->time;
  const double launches = one.value > 0 ? answer.on_device / one : 1;
  for (Seconds* bound : {&cell.correction->low, &cell.correction->high}) {
    *bound = *bound * launches + answer.dispatch;
  }
  return cell;
}

std::string count_of(std::size_t n, std::string_view thing) {
  return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s");
}

}  // namespace tilecast::sim

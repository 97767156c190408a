#include "sim/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/statistics.h"
#include "measured/metrics.h"
#include "sim/compare_rows.h"

namespace tilecast::sim {
namespace {

using Kind = CompareSide::Kind;

std::size_t find_side(const std::vector<CompareSide>& sides, const std::string& wanted,
                      std::string_view option) {
  std::string known;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (sides[i].name == wanted) return i;
    known += fmt::format("{}'{}'", i == 0 ? "" : ", ", sides[i].name);
  }
  throw UsageError("{}: got '{}', expected one of {}", option, wanted, known);
}

bool shares_rows(const Comparison& c, std::size_t side) {
  return std::ranges::any_of(c.rows, [&](const CompareRow& row) {
    const auto known = std::ranges::count_if(row.cells, [](const auto& cell) { return !!cell; });
    return row.cells[side] && known > 1;
  });
}

std::size_t choose_reference(const Comparison& c, const std::string& wanted) {
  if (!wanted.empty()) return find_side(c.sides, wanted, "--reference");
  for (std::size_t side = 0; side < c.sides.size(); ++side) {
    if (c.sides[side].kind == Kind::kMeasured && shares_rows(c, side)) return side;
  }
  return 0;
}

bool share_rows(const Comparison& c, std::size_t a, std::size_t b) {
  return std::ranges::any_of(c.rows,
                             [&](const CompareRow& row) { return row.cells[a] && row.cells[b]; });
}

// Per side; the main reference refers to itself.
std::vector<std::size_t> choose_references(const Comparison& c, const std::string& wanted) {
  std::vector<std::size_t> references(c.sides.size(), c.reference);
  for (std::size_t side = 0; wanted.empty() && side < c.sides.size(); ++side) {
    const std::optional<std::size_t> own = c.sides[side].own;
    if (own && side != c.reference && share_rows(c, side, *own)) references[side] = *own;
  }
  return references;
}

// The requested side, then the others in order.
std::vector<std::size_t> sort_order(const Comparison& c, const std::string& wanted) {
  std::vector<std::size_t> order;
  if (!wanted.empty()) order.push_back(find_side(c.sides, wanted, "--sort"));
  for (std::size_t side = 0; side < c.sides.size(); ++side) {
    if (side != c.reference && (order.empty() || side != order.front())) order.push_back(side);
  }
  return order;
}

// Comparable rows come first; rows that are not comparable are ordered by their longest time.
struct SortKey {
  bool comparable = false;
  double time_s = 0;
};

SortKey sort_key(const Comparison& c, const CompareRow& row,
                 const std::vector<std::size_t>& order) {
  for (const std::size_t side : order) {
    if (const auto time = lost(c, row, side)) return {true, std::abs(time->value)};
  }
  SortKey key;
  for (const auto& cell : row.cells) {
    if (cell) key.time_s = std::max(key.time_s, cell->time.value * row.launches);
  }
  return key;
}

void sort_rows(Comparison& c, const std::vector<std::size_t>& order) {
  std::vector<SortKey> keys;
  keys.reserve(c.rows.size());
  for (const CompareRow& row : c.rows) keys.push_back(sort_key(c, row, order));
  std::vector<std::size_t> places(c.rows.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, [&](std::size_t a, std::size_t b) {
    if (keys[a].comparable != keys[b].comparable) return keys[a].comparable;
    return keys[a].time_s > keys[b].time_s;
  });
  std::vector<CompareRow> sorted;
  sorted.reserve(c.rows.size());
  for (const std::size_t place : places) sorted.push_back(std::move(c.rows[place]));
  c.rows = std::move(sorted);
}

// The sum of the previous rows and this one.
std::optional<Joules> energy_with(const SideTotal& total, const CompareRow& row, std::size_t side) {
  const std::optional<Joules>& one = row.cells[side]->energy;
  if (!one || (total.rows > 0 && !total.energy)) return std::nullopt;
  return total.energy.value_or(Joules{}) + *one * row.launches;
}

void add(const Comparison& c, const CompareRow& row, std::size_t side, SideTotal& total) {
  if (!row.cells[side] || row.overlaps) return;
  const Seconds time = row.cells[side]->time * row.launches;
  total.energy = energy_with(total, row, side);
  ++total.rows;
  total.time += time;
  const auto difference = lost(c, row, side);
  if (!difference) return;
  ++total.shared;
  total.shared_time += time;
  total.reference += row.cells[c.references[side]]->time * row.launches;
  total.lost += Seconds{std::abs(difference->value)};
}

// `group`: only rows of this group; nullopt: all rows.
std::vector<SideTotal> totals_of(const Comparison& c, std::optional<std::size_t> group) {
  std::vector<SideTotal> totals(c.sides.size());
  std::vector<std::vector<double>> errors(c.sides.size());
  for (const CompareRow& row : c.rows) {
    if ((group && row.group != *group) || row.overlaps) continue;
    for (std::size_t side = 0; side < totals.size(); ++side) {
      add(c, row, side, totals[side]);
      if (const auto error = relative(c, row, side)) errors[side].push_back(std::abs(*error));
    }
  }
  for (std::size_t side = 0; side < totals.size(); ++side) {
    if (!errors[side].empty()) {
      totals[side].median_ape = base::median(std::move(errors[side]));
    }
  }
  return totals;
}

// Rows of a side by what `key_of` says of them (nullopt: no part); most lost first.
template <class Total, class Key, class KeyOf>
std::vector<Total> lost_by(const Comparison& c, std::size_t side, Key Total::*key,
                           const KeyOf& key_of) {
  std::map<Key, Total> by_key;
  for (const CompareRow& row : c.rows) {
    const auto difference = lost(c, row, side);
    const std::optional<Key> of = key_of(row);
    if (!difference || !of || row.overlaps) continue;
    Total& total = by_key[*of];
    total.*key = *of;
    ++total.rows;
    total.time += row.cells[side]->time * row.launches;
    total.reference += row.cells[c.references[side]]->time * row.launches;
    total.lost += Seconds{std::abs(difference->value)};
  }
  std::vector<Total> totals;
  for (auto& [name, total] : by_key) totals.push_back(std::move(total));
  std::ranges::stable_sort(totals, std::greater<>(), &Total::lost);
  return totals;
}

std::vector<BoundTotal> blamed_by(const Comparison& c, std::size_t side) {
  return lost_by(c, side, &BoundTotal::bound, [&](const CompareRow& row) {
    return row.cells[side] ? row.cells[side]->bound : std::nullopt;
  });
}

std::vector<CategoryTotal> categories_of(const Comparison& c) {
  return lost_by(c, c.sorted_by, &CategoryTotal::category, [](const CompareRow& row) {
    return row.profile ? std::optional(row.profile->category) : std::nullopt;
  });
}

void check(const Comparison& c) {
  TC_CHECK(!c.sides.empty(), "a comparison has sides");
  for (const CompareRow& row : c.rows) {
    TC_CHECK(row.cells.size() == c.sides.size(), "a row has a cell per side");
    TC_CHECK(row.group < c.groups.size(), "a row has a group");
  }
}

// Compilers write the largest integer for "unknown"; this bound is weeks for one kernel.
constexpr double kUnknownCycles = 1e15;

template <class T>
void put(std::vector<std::optional<T>>& list, std::size_t at, T value) {
  if (list.size() <= at) list.resize(at + 1);
  list[at] = std::move(value);
}

using measured::Sample;
using measured::Workload;

bool is_same(const ir::Program& program, const Workload& work) {
  return std::ranges::equal(program.kernels(), work.parts,
                            [](const ir::ScheduledKernel& a, const measured::WorkloadPart& b) {
                              return a.multiplicity == b.launches &&
                                     ir::fingerprint(a.kernel) == ir::fingerprint(b.kernel);
                            });
}

}  // namespace

std::string_view name(CompareSide::Kind kind) {
  static constexpr std::string_view kNames[] = {"model", "compiler", "measured"};
  return kNames[static_cast<std::size_t>(kind)];
}

Comparison compare(Comparison inputs, const CompareOptions& options) {
  Comparison c = std::move(inputs);
  check(c);
  c.reference = choose_reference(c, options.reference);
  c.references = choose_references(c, options.reference);
  const std::vector<std::size_t> order = sort_order(c, options.sort);
  c.sorted_by = order.empty() ? c.reference : order.front();
  sort_rows(c, order);
  c.totals = totals_of(c, std::nullopt);
  for (std::size_t group = 0; group < c.groups.size(); ++group) {
    CompareGroup& of = c.groups[group];
    of.rows = static_cast<std::size_t>(std::ranges::count(c.rows, group, &CompareRow::group));
    of.totals = totals_of(c, group);
    of.whole.resize(c.sides.size());
  }
  c.blamed.resize(c.sides.size());
  for (std::size_t side = 0; side < c.sides.size(); ++side) {
    if (side != c.reference) c.blamed[side] = blamed_by(c, side);
  }
  if (c.profile) c.categories = categories_of(c);
  return c;
}

std::optional<Seconds> lost(const Comparison& comparison, const CompareRow& row, std::size_t side) {
  const auto& cell = row.cells[side];
  const auto& reference = row.cells[comparison.references[side]];
  if (!cell || !reference) return std::nullopt;
  return (cell->time - reference->time) * row.launches;
}

std::optional<double> relative(const Comparison& comparison, const CompareRow& row,
                               std::size_t side) {
  const auto& cell = row.cells[side];
  const auto& reference = row.cells[comparison.references[side]];
  if (!cell || !reference || !(reference->time.value > 0)) return std::nullopt;
  return cell->time / reference->time - 1;
}

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
    note("{}: {} left out: {}", samples.name, count_of(samples.faults.size(), "row"),
         fault_summary(samples.faults));
  }
  if (samples.samples.empty()) {
    note("{}: no row to compare on {}", samples.name, device.name);
  } else if (!is_measured_on(device, samples.measured_on)) {
    note("{}: measured on {}, compared with a model of {}", samples.name, samples.measured_on,
         device.name);
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
  note("{}: opaque calls in {} ({}{}): bytes of operands and results only",
       comparison_.sides[side].name, count_of(count, "row"), first->name, count > 1 ? " ..." : "");
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
    note(side.kind == Kind::kModel
             ? fmt::format("{}: {} not answered (outside of its domain, or not on its device)",
                           side.name, gap)
             : fmt::format("{}: no {} of {}", side.name,
                           side.kind == Kind::kCompiler ? "estimate" : "time", gap));
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
  if (comparison_.sides.size() == 1 && comparison_.groups.size() == 1) {
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

MeasuredKernels::MeasuredKernels(const measured::MeasurementSet& set, measured::SampleSet samples,
                                 const hwdesc::Device& device)
    : samples_(std::move(samples)), device_(&device), works_(samples_.works.size()) {
  std::unordered_map<int, const measured::MeasurementRow*> row_of;
  for (const measured::MeasurementRow& row : set.rows) row_of.emplace(row.line, &row);
  for (std::size_t i = 0; i < samples_.samples.size(); ++i) {
    const Sample& sample = samples_.samples[i];
    if (!time_of(sample)) {
      ++all_dispatch_;
      continue;
    }
    Rows& rows = works_[sample.work];
    if (const auto row = row_of.find(sample.line); row != row_of.end()) {
      rows.stem = std::filesystem::path(row->second->file).stem().string();
      rows.is_program = row->second->is_program;
    }
    rows.samples.push_back(i);
  }
  for (std::size_t i = 0; i < works_.size(); ++i) {
    const Workload& work = samples_.works[i];
    if (works_[i].samples.empty()) continue;
    by_name_[work.name].push_back(i);
    if (!works_[i].is_program && work.parts.size() == 1) {
      by_print_[ir::fingerprint(work.parts.front().kernel)].push_back(i);
    }
  }
}

std::optional<Seconds> MeasuredKernels::time_of(const Sample& sample) const {
  Seconds time = sample.measured;
  if (sample.holds_dispatch) {
    const std::string& op_class = samples_.works[sample.work].op_class;
    time = time - measured::dispatch_of(op_class, samples_.manifest, *device_);
  }
  if (time.value <= 0) return std::nullopt;
  return time;
}

std::optional<MeasuredKernel> MeasuredKernels::choose(std::size_t work,
                                                      const analytical::TileConfig& wanted) {
  Rows& rows = works_[work];
  rows.found = true;
  MeasuredKernel result{.tiles = rows.samples.size(), .is_of_compiler = false};
  for (const std::size_t i : rows.samples) {
    const Sample& sample = samples_.samples[i];
    const Seconds time = *time_of(sample);
    const bool is_of_compiler = sample.tile == analytical::TileConfig{} || sample.tile == wanted;
    if (is_of_compiler > result.is_of_compiler || result.time.value <= 0 ||
        (is_of_compiler == result.is_of_compiler && time < result.time)) {
      result.time = time;
      result.spread = sample.spread;
      result.is_of_compiler = is_of_compiler;
    }
  }
  return result;
}

std::optional<MeasuredKernel> MeasuredKernels::find(const ir::Kernel& kernel,
                                                    const std::string& stem) {
  const analytical::TileConfig tile = compiler_choice(kernel);
  if (const auto same = by_print_.find(ir::fingerprint(kernel)); same != by_print_.end()) {
    const auto named = std::ranges::find_if(
        same->second, [&](std::size_t work) { return samples_.works[work].name == kernel.name(); });
    const bool own = named != same->second.end();
    std::optional<MeasuredKernel> result = choose(own ? *named : same->second.front(), tile);
    result->own = own;
    return result;
  }
  const auto named = by_name_.find(kernel.name());
  if (named == by_name_.end()) return std::nullopt;
  for (const std::size_t work : named->second) {
    if (works_[work].is_program || works_[work].stem != stem) continue;
    std::optional<MeasuredKernel> result = choose(work, tile);
    result->same = false;
    return result;
  }
  return std::nullopt;
}

std::optional<MeasuredKernel> MeasuredKernels::find(const ir::Program& program,
                                                    const std::string& stem) {
  std::optional<std::size_t> found;
  for (std::size_t work = 0; work < works_.size(); ++work) {
    if (!works_[work].is_program || works_[work].samples.empty()) continue;
    if (is_same(program, samples_.works[work])) {
      found = work;
      break;
    }
    if (!found && works_[work].stem == stem) found = work;
  }
  if (!found) return std::nullopt;
  std::optional<MeasuredKernel> result = choose(*found, {});
  result->same = is_same(program, samples_.works[*found]);
  return result;
}

std::vector<Unmatched> MeasuredKernels::unmatched() const {
  std::vector<Unmatched> result;
  for (std::size_t work = 0; work < works_.size(); ++work) {
    if (works_[work].found || works_[work].samples.empty()) continue;
    Unmatched row{.set = samples_.name, .name = samples_.works[work].name};
    for (const std::size_t i : works_[work].samples) {
      const Seconds time = *time_of(samples_.samples[i]);
      if (row.line != 0 && time >= row.time) continue;
      row.line = samples_.samples[i].line;
      row.time = time;
    }
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace tilecast::sim

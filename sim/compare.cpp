#include "sim/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/statistics.h"
#include "measured/metrics.h"

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
  throw UsageError(fmt::format("{}: got '{}', expected one of {}", option, wanted, known));
}

bool shares_rows(const Comparison& c, std::size_t side) {
  return std::ranges::any_of(c.rows, [&](const CompareRow& row) {
    if (!row.cells[side]) return false;
    for (std::size_t other = 0; other < c.sides.size(); ++other) {
      if (other != side && row.cells[other]) return true;
    }
    return false;
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

std::vector<BoundTotal> blamed_by(const Comparison& c, std::size_t side) {
  std::vector<BoundTotal> bounds(analytical::kBoundCount);
  for (const CompareRow& row : c.rows) {
    const auto difference = lost(c, row, side);
    if (!difference || !row.cells[side]->bound || row.overlaps) continue;
    BoundTotal& total = bounds[static_cast<std::size_t>(*row.cells[side]->bound)];
    ++total.rows;
    total.time += row.cells[side]->time * row.launches;
    total.reference += row.cells[c.references[side]]->time * row.launches;
    total.lost += Seconds{std::abs(difference->value)};
  }
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    bounds[i].bound = static_cast<analytical::Bound>(i);
  }
  std::erase_if(bounds, [](const BoundTotal& total) { return total.rows == 0; });
  std::ranges::stable_sort(
      bounds, [](const BoundTotal& a, const BoundTotal& b) { return a.lost > b.lost; });
  return bounds;
}

std::vector<CategoryTotal> categories_of(const Comparison& c) {
  std::map<std::string, CategoryTotal> by_name;
  for (const CompareRow& row : c.rows) {
    const auto difference = lost(c, row, c.sorted_by);
    if (!difference || !row.profile || row.overlaps) continue;
    CategoryTotal& total = by_name[row.profile->category];
    ++total.rows;
    total.time += row.cells[c.sorted_by]->time * row.launches;
    total.reference += row.cells[c.references[c.sorted_by]]->time * row.launches;
    total.lost += Seconds{std::abs(difference->value)};
  }
  std::vector<CategoryTotal> categories;
  for (auto& [name, total] : by_name) {
    total.category = name;
    categories.push_back(std::move(total));
  }
  std::ranges::stable_sort(
      categories, [](const CategoryTotal& a, const CategoryTotal& b) { return a.lost > b.lost; });
  return categories;
}

void check(const Comparison& c) {
  TC_CHECK(!c.sides.empty(), "a comparison has sides");
  for (const CompareRow& row : c.rows) {
    TC_CHECK(row.cells.size() == c.sides.size(), "a row has a cell per side");
    TC_CHECK(row.group < c.groups.size(), "a row has a group");
  }
}

}  // namespace

std::string_view name(CompareSide::Kind kind) {
  switch (kind) {
    case Kind::kModel:
      return "model";
    case Kind::kCompiler:
      return "compiler";
    case Kind::kMeasured:
      break;
  }
  return "measured";
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

}  // namespace tilecast::sim

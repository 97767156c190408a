// CacheModel: cost of the loads and stores of a nest.
#include <algorithm>
#include <cmath>
#include <limits>

#include "analytical/cache_model.h"

namespace tilecast::analytical {

void CacheModel::set_sweeps(std::span<const Extents> groups, Nest& nest) const {
  boost::container::small_vector<double, 16> touched;
  for (const auto* streams : {&inputs_, &outputs_}) {
    for (const MemoryStream& stream : *streams) {
      touched.push_back(region_bytes(stream.array, groups[stream.group]));
    }
  }
  std::uint32_t open = (1U << levels_.size()) - 1;  // levels that have held everything so far
  for (const NestLoop& step : nest.loops) {
    double bytes = nest.scratchpad_bytes;
    std::size_t i = 0;
    for (const auto* streams : {&inputs_, &outputs_}) {
      for (const MemoryStream& stream : *streams) {
        if (stream.moved_by(step.loop)) touched[i] *= step.tiles;
        bytes += touched[i++];
      }
    }
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if ((open >> l & 1U) == 0) continue;
      nest.swept[l] |= 1U << step.loop;
      if (bytes > levels_[l].capacity) open &= ~(1U << l);
    }
  }
}

// `sweeps`: per level, extents of all groups over the loops it sweeps whole; the last entry is a
// tile.
CacheModel::Moved CacheModel::moved(const MemoryStream& stream, const Nest& nest,
                                    std::span<const GroupExtents> sweeps) const {
  const Extents& tile = sweeps.back()[stream.group];
  const auto tiles = [&](std::size_t level) {
    double count = 1;
    for (const NestLoop& step : nest.loops) {
      if (level < levels_.size() && (nest.swept[level] & stream.loops) >> step.loop & 1U) {
        count *= step.tiles;
      }
    }
    return count;
  };
  const auto runs = [&](const Extents& region) {
    return resident_bytes(stream.array, region) / contiguous_bytes(stream.array, region);
  };
  Moved moved;
  moved.elements = resident_bytes(stream.array, tile);
  const double vector = 4.0 * static_cast<double>(device_->vector.lanes);
  moved.vectors = runs(tile) * std::ceil(moved.elements / runs(tile) / vector);
  for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
    const Extents& near = sweeps[l + 1][stream.group];
    const Extents& nearer = sweeps[l + 2][stream.group];
    moved.lines[l] = region_bytes(stream.array, near) / tiles(l + 1);
    const double skipped = std::min(levels_[l].run_cost_bytes, gap_bytes(stream.array, nearer));
    moved.skipped[l] = runs(nearer) / tiles(l + 2) * skipped;
  }
  return moved;
}

// Seconds to pack: one vector load and one vector store per piece of a run.
double CacheModel::copy_s(const Moved& moved) const {
  const hwdesc::VectorUnit& vector = device_->vector;
  return moved.vectors / std::min(vector.load_ports, vector.store_ports) * cycle_s_ / workers_;
}

// Seconds through all levels from `level` inwards, at their read or write rates.
double CacheModel::through_s(const Moved& moved, std::size_t level, double Level::*rate) const {
  double longest = copy_s(moved);
  for (std::size_t l = level; l + 1 < levels_.size(); ++l) {
    const double bytes = moved.lines[l] + moved.skipped[l];
    longest = std::max(longest, bytes / (levels_[l].*rate));
  }
  return longest;
}

CacheModel::Traffic CacheModel::traffic(const Nest& nest, std::span<const Extents> groups) const {
  boost::container::small_vector<Operand, 16> operands;
  boost::container::small_vector<LoadsFrom, 16> loads(inputs_.size());
  for (const MemoryStream& input : inputs_) {
    operands.push_back({input.loops, region_bytes(input.array, groups[input.group])});
  }
  boost::container::small_vector<double, kMaxLevels> capacities;
  for (const Level& level : levels_) capacities.push_back(level.capacity);
  count_loads({nest.loops.data(), nest.loops.size()}, {operands.data(), operands.size()},
              {capacities.data(), capacities.size()}, nest.scratchpad_bytes,
              {loads.data(), loads.size()});
  boost::container::small_vector<GroupExtents, kMaxLevels> sweeps(levels_.size() + 1);
  evaluate_sweeps(nest, groups.size(), {sweeps.data(), sweeps.size()});
  const Level& behind = levels_[levels_.size() - 2];
  // Per byte: a line is fetched before it is written, written back, and fetched to be read.
  const double spilled_s = outside(nest) * (1 / behind.write + 2 / behind.read);
  Traffic sum;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Moved load = moved(inputs_[i], nest, {sweeps.data(), sweeps.size()});
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const double times = loads[i][l];
      (l == 0 ? sum.memory_s : sum.caches_s) += times * through_s(load, l, &Level::read);
      sum.caches_s += times * load.elements * spilled_s;
      sum.issue_s += times * nest.row_pieces * setup_s_;
      if (l > 0) sum.inner_bytes[l - 1] += times * load.lines[l];
    }
    sum.read_bytes += loads[i][0] * load.lines[0];
  }
  for (const MemoryStream& output : outputs_) {
    double times = 1;
    for (const NestLoop& step : nest.loops) {
      if ((output.loops >> step.loop & 1U) != 0) times *= step.tiles;
    }
    const Moved store = moved(output, nest, {sweeps.data(), sweeps.size()});
    sum.store_s += times * through_s(store, 0, &Level::write);
    sum.issue_s += times * nest.row_pieces * setup_s_;
    sum.write_bytes += times * store.lines[0];
    for (std::size_t l = 1; l < levels_.size(); ++l) {
      sum.inner_bytes[l - 1] += times * store.lines[0];
    }
  }
  sum.window_bytes = window_of_streams(nest, groups, {loads.data(), loads.size()});
  sum.beside_s =
      saved_beside_s(memory_path(device_->main_memory()), sum.read_bytes, sum.write_bytes);
  return sum;
}

// The largest window that a tile reads. Infinite if the next tile is not contiguous in memory, or
// waits for the sums of this one.
double CacheModel::window_of_streams(const Nest& nest, std::span<const Extents> groups,
                                     std::span<const LoadsFrom> loads) const {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  if (nest.loops.empty() || page_bytes_ <= 0) return 0;
  const int innermost = nest.loops.front().loop;
  const bool sums_on = std::ranges::none_of(
      outputs_, [&](const MemoryStream& output) { return (output.loops >> innermost & 1U) != 0; });
  if (sums_on) return kEndless;
  LoopSizes two_tiles = nest.extents;
  two_tiles[innermost] *= 2;
  GroupExtents storage = group_extents();
  const std::span<Extents> doubled(storage.data(), storage.size());
  footprints_.evaluate(two_tiles, doubled);
  double window = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (loads[i][0] <= 1) continue;
    const StoredArray& array = inputs_[i].array;
    const double bytes = resident_bytes(array, groups[inputs_[i].group]);
    const bool goes_on = contiguous_bytes(array, doubled[inputs_[i].group]) > bytes;
    window = std::max(window, goes_on ? bytes : kEndless);
  }
  return window;
}

// Fills `sweeps` as moved() takes them.
void CacheModel::evaluate_sweeps(const Nest& nest, std::size_t groups,
                                 std::span<GroupExtents> sweeps) const {
  for (std::size_t l = 0; l < sweeps.size(); ++l) {
    LoopSizes extents = nest.extents;
    for (const NestLoop& step : nest.loops) {
      const bool whole = l < levels_.size() && (nest.swept[l] >> step.loop & 1U) != 0;
      if (whole) extents[step.loop] = space_.loops[step.loop].size;
    }
    sweeps[l].resize(groups, boost::container::default_init);
    footprints_.evaluate(extents, {sweeps[l].data(), sweeps[l].size()});
  }
}

}  // namespace tilecast::analytical

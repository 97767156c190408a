#include "analytical/cache_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analytical/simt_launch.h"
#include "analytical/xla_cpu.h"

namespace tilecast::analytical {
namespace {

constexpr std::size_t kPrivate =
    2;  // first level of a core's own caches, behind memory and the shared

// Share of a window already prefetched when the previous tile is done. The prefetcher stops at a
// page end, which is uniformly distributed: the mean of min(1, u / window) for u in [0, page].
double prefetched_share(double window_bytes, double page_bytes) {
  if (page_bytes <= 0) return 0;
  const double pages = window_bytes / page_bytes;
  return pages <= 1 ? 1 - pages / 2 : 1 / (2 * pages);
}

// The innermost cache's line: the least a load of an array moves.
double line_bytes(const hwdesc::Device& device) {
  return device.main_memory().granule.value;
}

// Arrays begin at page boundaries, so the windows of all streams compete for the same sets: each
// takes one way of the innermost cache from the packed data.
double packed_capacity(const hwdesc::Device& device, std::size_t streams) {
  const hwdesc::MemoryLevel& cache = device.scratchpad();
  if (cache.ways == 0) return cache.capacity.value;
  const double left = std::max(1.0, cache.ways - static_cast<double>(streams));
  return cache.capacity.value * left / cache.ways;
}

template <class Vector>
std::span<const typename Vector::value_type> view(const Vector& values) {
  return {values.data(), values.size()};
}

}  // namespace

CacheModel::CacheModel(const ir::Kernel& kernel, const hwdesc::Device& device)
    : TileModel(kernel, device),
      as_loops_(LoopConvolution::of(kernel, space_, device)),
      compute_(kernel, device, space_, footprints_),
      passes_(space_.matrix ? Passes{} : passes_of(kernel, footprints_)),
      inputs_(input_streams(kernel, footprints_, line_bytes(device))),
      outputs_(output_streams(kernel, footprints_, line_bytes(device))),
      as_written_(is_written_in_order(kernel, space_, device)) {
  if (space_.matrix && space_.matrix->op.valid()) find_dot_operands(kernel);
  if (space_.matrix && space_.matrix->group_loop >= 0) step_groups_with_rows();
  workers_ = std::max(device.multiplexing.workers, 1);
  for (std::size_t i = 0; i < device.memory.size() && i < kMaxLevels; ++i) {
    const MemoryPath path = memory_path(device.memory[i]);
    const hwdesc::TransferEngine& engine = device.engines[std::min(i, device.engines.size() - 1)];
    levels_.push_back({.read = i < device.engines.size()
                                   ? attained(path.read, engine, path.latency_s, workers_)
                                   : path.read,
                       .write = path.write,
                       .capacity = device.memory[i].capacity.value,
                       .run_cost_bytes = engine.full_efficiency_run.value});
  }
  for (auto* streams : {&inputs_, &outputs_}) {
    for (MemoryStream& stream : *streams) {
      stream.level = std::min(stream.level, levels_.size() - 1);
      near_latency_s_ = std::max(near_latency_s_, device.memory[stream.level].latency.value);
    }
  }
  packed_capacity_ = packed_capacity(device, inputs_.size() + outputs_.size());
  overhead_s_ = device.engines.back().iteration_overhead.value;
  setup_s_ = device.engines.back().setup.value;
  page_bytes_ = device.engines.front().prefetch.value;
  if (as_written_) {  // nothing is packed
    overhead_s_ = setup_s_ = 0;
    for (std::size_t i = kPrivate; i < levels_.size(); ++i) levels_[i].run_cost_bytes = 0;
  }
}

// Records the operands of a dot and whether a contracted dimension is innermost in memory.
void CacheModel::find_dot_operands(const ir::Kernel& kernel) {
  const ir::Op& op = kernel.op(space_.matrix->op);
  if (op.get<ir::DotAttrs>() == nullptr) return;
  for (const std::size_t operand : {0, 1}) {
    const ir::Shape& shape = kernel.op(op.operands[operand]).shape;
    if (shape.rank() > kMaxRank || shape.rank() == 0) continue;
    const bool depth = depth_is_minor(kernel, op, operand);
    depth_is_minor_[operand] = depth;
    dot_operands_.push_back({.group = footprints_.group_of(op.operands[operand]),
                             .rank = shape.rank(),
                             .is_columns = operand == 1,
                             .depth_is_minor = depth,
                             .elements = static_cast<double>(ir::element_count(shape))});
  }
}

// Groups have no loop of their own: their weights change with the row loops.
void CacheModel::step_groups_with_rows() {
  const std::uint32_t group = 1U << space_.matrix->group_loop;
  for (MemoryStream& stream : inputs_) {
    if ((stream.loops & group) == 0) continue;
    stream.loops &= ~group;
    for (const int row : space_.matrix->rows) stream.loops |= 1U << row;
  }
}

CacheModel::Nest CacheModel::prepare(const TileConfig& tile, std::span<Extents> groups) const {
  Nest nest;
  nest.extents = tile_extents(space_, tile);
  for (auto position = space_.order.rbegin(); position != space_.order.rend(); ++position) {
    const Loop& loop = space_.loops[*position];
    if (loop.grouped) continue;
    const double tiles =
        static_cast<double>(loop.size) / static_cast<double>(nest.extents[*position]) +
        static_cast<double>(loop.revisits);
    if (tiles <= 1) continue;
    if (passes_.count > 1 && (passes_.reduced_loops >> *position & 1U) != 0) {
      nest.extents[*position] = loop.size;
      nest.row_pieces *= std::ceil(tiles);
      continue;
    }
    nest.loops.push_back({*position, tiles});
    nest.tiles *= tiles;
    nest.whole_tiles *= std::ceil(tiles);
    nest.split = nest.split || loop.reduction;
    if (!loop.reduction) nest.results *= tiles;
  }
  footprints_.evaluate(nest.extents, groups);
  set_footprint(groups, nest);
  set_sweeps(groups, nest);
  // A tile that states stages (host/c_loops.h) adds one prefetch instruction per line. The core's
  // own prefetchers fetch these lines anyway, so nothing is saved.
  if (tile.stages > 1) {
    const double box = nest.packed_bytes / device_->engines.back().stages;
    nest.prefetch_s = nest.whole_tiles * box / line_bytes(*device_) * cycle_s_;
  }
  return nest;
}

void CacheModel::set_footprint(std::span<const Extents> groups, Nest& nest) const {
  std::uint32_t cut = 0;
  for (const NestLoop& step : nest.loops) cut |= 1U << step.loop;
  const double stages = device_->engines.back().stages;
  const auto bytes_of = [&](const std::vector<MemoryStream>& streams) {
    double bytes = 0;
    for (const MemoryStream& stream : streams) {
      bytes += ((stream.loops & cut) != 0 ? stages : 1) *
               resident_bytes(stream.array, groups[stream.group]);
    }
    return bytes;
  };
  nest.packed_bytes = bytes_of(inputs_);
  nest.scratchpad_bytes = (nest.split ? compute_.accumulator_bytes(groups) : 0) +
                          nest.packed_bytes + bytes_of(outputs_);
}

double CacheModel::outside(const Nest& nest) const {
  return repeated_miss_share(packed_capacity_, nest.packed_bytes);
}

// Seconds of the multiply-adds of one iteration.
double CacheModel::product_s(const ProductSizes& sizes, const Nest& nest) const {
  const double cycles = product_cycles(sizes, *device_, compute_.product_type(), outside(nest));
  if (std::isfinite(cycles)) return cycles * cycle_s_;
  return compute_.vector_matrix_cycles(nest.extents) * cycle_s_;
}

// Elements that must be transposed during packing because their layout opposes the product's loops.
double CacheModel::transposed_elements(const ProductSizes& sizes, std::span<const Extents> groups,
                                       std::span<const double> times) const {
  double elements = 0;
  for (const DotOperand& operand : dot_operands_) {
    const bool is_columns = operand.is_columns != sizes.exchanged;
    const bool wants_depth_minor = sizes.skinny || !is_columns;
    if (operand.depth_is_minor == wants_depth_minor) continue;
    double region = times[operand.group];
    for (int d = 0; d < operand.rank; ++d) region *= static_cast<double>(groups[operand.group][d]);
    elements += region;
  }
  return elements;
}

// The variant with the least time, transposing included.
CacheModel::ProductCost CacheModel::cheapest_product(const Nest& nest,
                                                     std::span<const Extents> groups,
                                                     std::span<const double> times) const {
  if (is_xla_cpu(*device_) && compute_.has_matrix_work()) {
    double turned = 0;  // elements that packing turns: rows lie along the depth, columns across it
    for (const DotOperand& operand : dot_operands_) {
      if (operand.depth_is_minor == operand.is_columns) turned += operand.elements;
    }
    const double cycles = library_product_cycles(space_, *device_, compute_.product_type());
    return {.multiplied_s = cycles * cycle_s_,
            .transposed_s = turned / device_->cross_lane.elements_per_cycle * cycle_s_};
  }
  ProductCost best{.multiplied_s = std::numeric_limits<double>::infinity()};
  for (const ProductSizes& way : product_ways(space_, nest.extents, depth_is_minor_)) {
    const ProductCost cost{.multiplied_s = product_s(way, nest) * nest.tiles,
                           .transposed_s = transposed_elements(way, groups, times) /
                                           device_->cross_lane.elements_per_cycle * cycle_s_};
    if (cost.multiplied_s + cost.transposed_s < best.multiplied_s + best.transposed_s) best = cost;
  }
  return best;
}

// How often each group's region is computed: once per step of the innermost loop that moves it and
// of all loops outside that.
void CacheModel::count_evaluations(const Nest& nest, std::span<double> times) const {
  for (std::size_t g = 0; g < times.size(); ++g) {
    const std::uint32_t loops = footprints_.groups()[g].loops;
    times[g] = 1;
    bool moved = false;
    for (const NestLoop& step : nest.loops) {
      moved = moved || (loops >> step.loop & 1U) != 0;
      if (moved) times[g] *= step.tiles;
    }
  }
}

// Returns the time of the loops that end in stores, without cross-lane moves, which store by
// themselves.
double CacheModel::add_compute(const Nest& nest, std::span<const Extents> groups,
                               PerBound& parts) const {
  const auto add = [&](UnitCycles cycles) {
    const double units = cycles.vector + cycles.transcendental + cycles.cross_lane + cycles.matrix;
    cycles.on_chip = std::max(0.0, cycles.on_chip - units);
    for (const auto& [bound, of_unit] : kUnits) {
      parts[index_of(bound)] += cycles.*of_unit * cycle_s_;
    }
  };
  boost::container::small_vector<double, 48> times(groups.size());
  count_evaluations(nest, {times.data(), times.size()});
  add(compute_.prologue(groups, view(times)));
  const UnitCycles last = compute_.epilogue(groups, view(times));
  add(last);
  if (space_.matrix) {
    const ProductCost cost = cheapest_product(nest, groups, view(times));
    parts[index_of(Bound::kMatrix)] += cost.multiplied_s;
    parts[index_of(Bound::kCrossLane)] += cost.transposed_s;
  }
  const double units = last.vector + last.transcendental + last.cross_lane;
  return (std::max(units, last.on_chip) - last.cross_lane) * cycle_s_;
}

PerBound CacheModel::parts(const Nest& nest, std::span<const Extents> groups,
                           const Traffic& moved) const {
  using enum Bound;
  PerBound parts{};
  const double finish_s = add_compute(nest, groups, parts);
  const double results = std::ceil(nest.results);
  const double share = std::ceil(results / workers_) / results;  // of the busiest core
  for (double& part : parts) part *= share;
  parts[index_of(kHbmRead)] += moved.memory_s;
  // The loop that computes a result stores it: only the longer of the two counts.
  parts[index_of(kHbmWrite)] += std::max(0.0, moved.store_s - finish_s * share);
  parts[index_of(kOnChip)] += moved.caches_s;
  parts[index_of(kIssue)] += (moved.issue_s + nest.prefetch_s) * share;
  parts[index_of(kLatency)] = moved.far ? device_->main_memory().latency.value : near_latency_s_;
  parts[index_of(kOverhead)] = nest.whole_tiles * nest.row_pieces * overhead_s_ * share;
  hide_behind_prefetch(nest, moved, parts);
  // What came from a cache is not main memory's time.
  const auto to_cache = [&](Bound memory, double near_s, double all_s) {
    const double near = all_s > 0 ? parts[index_of(memory)] * near_s / all_s : 0;
    parts[index_of(memory)] -= near;
    parts[index_of(kOnChip)] += near;
  };
  to_cache(kHbmRead, moved.near_read_s, moved.memory_s);
  to_cache(kHbmWrite, moved.near_write_s, moved.store_s);
  parts[index_of(kOverhead)] += device_->dispatch.kernel_launch.value;
  return parts;
}

// Prefetchers run ahead into the next tile while the core works, and stores drain during the next
// loads: for that share the longer of memory and core counts, not their sum.
void CacheModel::hide_behind_prefetch(const Nest& nest, const Traffic& moved,
                                      PerBound& parts) const {
  using enum Bound;
  constexpr std::array kMemory{index_of(kHbmRead), index_of(kHbmWrite)};
  double core = 0, in_turn = 0;
  for (const double part : parts) core += part;
  core -= parts[index_of(kLatency)];
  for (const std::size_t b : kMemory) in_turn += parts[b];
  core -= in_turn;
  const double together = moved.memory_s + moved.store_s - moved.beside_s;
  // The first tile of a core is not prefetched.
  const double results = std::ceil(nest.results);
  const double of_core = std::ceil(results / workers_) * std::max(1.0, nest.whole_tiles / results);
  const double ahead = (1 - 1 / of_core) * prefetched_share(moved.window_bytes, page_bytes_);
  const bool memory_longer = together > core;
  for (std::size_t b = 0; b < parts.size(); ++b) {
    if (b == index_of(kLatency)) continue;
    const bool memory = std::ranges::find(kMemory, b) != kMemory.end();
    if (memory != memory_longer) parts[b] *= 1 - ahead;
  }
  if (!memory_longer) return;
  const double reads = moved.memory_s / (moved.memory_s + moved.store_s);
  parts[index_of(kHbmRead)] += ahead * (together * reads - parts[index_of(kHbmRead)]);
  parts[index_of(kHbmWrite)] += ahead * (together * (1 - reads) - parts[index_of(kHbmWrite)]);
}

double CacheModel::time_s(const TileConfig& tile) const {
  if (tile.unroll > 0) {
    if (!infeasible_reason(tile).empty()) return std::numeric_limits<double>::infinity();
    return sum_of_parts(as_loops_->parts(tile), 0).total_s;
  }
  GroupExtents storage = group_extents();
  const std::span<Extents> groups(storage.data(), storage.size());
  const Nest nest = prepare(tile, groups);
  if (nest.scratchpad_bytes > worker_memory(*device_).capacity.value) {
    return std::numeric_limits<double>::infinity();
  }
  return sum_of_parts(parts(nest, groups, traffic(nest, groups)), 0).total_s;
}

// A tile that does not fit only costs loads from a slower level, which reuse.h counts.
Accounting CacheModel::account(const TileConfig& tile, BoundMask removed) const {
  if (tile.unroll > 0) {
    Accounting accounting = sum_of_parts(as_loops_->parts(tile), removed);
    accounting.read_bytes = as_loops_->read_bytes();
    accounting.write_bytes = as_loops_->write_bytes();
    accounting.iterations = tile_count(space_, tile_extents(space_, tile));
    return accounting;
  }
  GroupExtents storage = group_extents();
  const std::span<Extents> groups(storage.data(), storage.size());
  const Nest nest = prepare(tile, groups);
  const Traffic moved = traffic(nest, groups);
  Accounting accounting = sum_of_parts(parts(nest, groups, moved), removed);
  accounting.read_bytes = moved.read_bytes;
  accounting.write_bytes = moved.write_bytes;
  accounting.inner_bytes = moved.inner_bytes;
  accounting.iterations = nest.whole_tiles;
  return accounting;
}

double CacheModel::least_iteration_s() const {
  return overhead_s_ / workers_;
}

double CacheModel::scratchpad_bytes(const TileConfig& tile) const {
  GroupExtents storage = group_extents();
  return prepare(tile, {storage.data(), storage.size()}).scratchpad_bytes;
}

std::string CacheModel::infeasible_reason(const TileConfig& tile) const {
  if (tile.unroll > 0) {
    return as_loops_ ? as_loops_->refusal(tile) : "unroll applies only to convolution loops";
  }
  const hwdesc::MemoryLevel& cache = worker_memory(*device_);
  const double bytes = scratchpad_bytes(tile);
  if (bytes <= cache.capacity.value) return {};
  constexpr double kKiB = 1024.0;
  return fmt::format("a tile needs {:.1f} KiB of {} ({:.1f} KiB available)", bytes / kKiB,
                     cache.name, cache.capacity.value / kKiB);
}

// A compiler that does not cut loops has one tile: a row of the result.
std::vector<LoopSizes> CacheModel::candidate_extents(std::size_t limit) const {
  if (!as_written_) return TileModel::candidate_extents(limit);
  LoopSizes extents;
  extents.fill(1);
  const auto repeats = [&](int loop) { return space_.loops[loop].size > 1; };
  const auto row = std::find_if(space_.order.rbegin(), space_.order.rend(), repeats);
  if (row != space_.order.rend()) extents[*row] = space_.loops[*row].size;
  return {clamped(space_, extents)};
}

// CacheModel: cost of the loads and stores of a nest.

// How many times its bytes a region takes of a cache: rows a multiple of lines apart share some
// sets and leave the others empty. The last cache spreads its lines over all sets by a hash.
double CacheModel::spread_in_sets(std::size_t level, const MemoryStream& stream,
                                  const Extents& region) const {
  const hwdesc::MemoryLevel& cache = device_->memory[level];
  const double line = line_bytes(*device_);
  const double gap = gap_bytes(stream.array, region);
  if (level < kPrivate || cache.ways == 0 || gap <= 0) return 1;
  const double run = contiguous_bytes(stream.array, region);
  const auto sets = static_cast<std::int64_t>(cache.capacity.value / (cache.ways * line));
  const auto apart = static_cast<std::int64_t>((run + gap) / line);
  if (apart < 1 || run + gap != line * static_cast<double>(apart)) return 1;
  const double shared = static_cast<double>(std::gcd(sets, apart));
  return std::max(1.0, shared * line / std::max(run, line));
}

void CacheModel::set_sweeps(std::span<const Extents> groups, Nest& nest) const {
  boost::container::small_vector<double, 16> touched, spread;
  for (const auto* streams : {&inputs_, &outputs_}) {
    for (const MemoryStream& stream : *streams) {
      touched.push_back(region_bytes(stream.array, groups[stream.group]));
      for (std::size_t l = 0; as_written_ && l < levels_.size(); ++l) {
        spread.push_back(spread_in_sets(l, stream, groups[stream.group]));
      }
    }
  }
  const auto held_bytes = [&](std::size_t level) {
    double bytes = nest.scratchpad_bytes;
    for (std::size_t i = 0; i < touched.size(); ++i) {
      bytes += touched[i] * (spread.empty() ? 1 : spread[i * levels_.size() + level]);
    }
    return bytes;
  };
  std::uint32_t open = (1U << levels_.size()) - 1;  // levels that have held everything so far
  for (std::size_t l = 0; as_written_ && l < levels_.size(); ++l) {  // not even a row
    if (held_bytes(l) > levels_[l].capacity) open &= ~(1U << l);
  }
  for (const NestLoop& step : nest.loops) {
    std::size_t i = 0;
    for (const auto* streams : {&inputs_, &outputs_}) {
      for (const MemoryStream& stream : *streams) {
        if (stream.moved_by(step.loop)) touched[i] *= step.tiles;
        ++i;
      }
    }
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if ((open >> l & 1U) == 0) continue;
      nest.swept[l] |= 1U << step.loop;
      if (held_bytes(l) > levels_[l].capacity) open &= ~(1U << l);
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
    double starts = runs(nearer) / tiles(l + 2);
    if (as_written_) starts = std::min(starts, moved.lines[l] / line_bytes(*device_));
    moved.skipped[l] = starts * skipped;
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
    const std::size_t found = inputs_[i].level;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const double times = loads[i][l];
      const double from_s = times * through_s(load, std::max(l, found), &Level::read);
      (l == 0 ? sum.memory_s : sum.caches_s) += from_s;
      if (l == 0 && found > 0) sum.near_read_s += from_s;
      sum.caches_s += times * load.elements * spilled_s;
      sum.issue_s += times * nest.row_pieces * setup_s_;
      if (l > 0) sum.inner_bytes[l - 1] += times * load.lines[l];
    }
    if (found == 0) sum.read_bytes += loads[i][0] * load.lines[0];
    sum.far |= found == 0;
  }
  for (const MemoryStream& output : outputs_) {
    double times = 1;
    for (const NestLoop& step : nest.loops) {
      if ((output.loops >> step.loop & 1U) != 0) times *= step.tiles;
    }
    const Moved store = moved(output, nest, {sweeps.data(), sweeps.size()});
    const double store_s = times * through_s(store, output.level, &Level::write);
    sum.store_s += store_s;
    sum.issue_s += times * nest.row_pieces * setup_s_;
    sum.far |= output.level == 0;
    if (output.level == 0) {
      sum.write_bytes += times * store.lines[0];
    } else {
      sum.near_write_s += store_s;
    }
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

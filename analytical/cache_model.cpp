#include "analytical/cache_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analytical/simt_launch.h"

namespace tilecast::analytical {
namespace {

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
      outputs_(output_streams(kernel, footprints_, line_bytes(device))) {
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
  packed_capacity_ = packed_capacity(device, inputs_.size() + outputs_.size());
  overhead_s_ = device.engines.back().iteration_overhead.value;
  setup_s_ = device.engines.back().setup.value;
  page_bytes_ = device.engines.front().prefetch.value;
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
                             .depth_is_minor = depth});
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
  parts[index_of(kLatency)] = device_->main_memory().latency.value;
  parts[index_of(kOverhead)] = nest.whole_tiles * nest.row_pieces * overhead_s_ * share;
  hide_behind_prefetch(nest, moved, parts);
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

}  // namespace tilecast::analytical

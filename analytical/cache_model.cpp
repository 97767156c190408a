#include "analytical/cache_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analytical/simt_launch.h"
#include "analytical/simt_passes.h"
#include "analytical/tile_space.h"

namespace tilecast::analytical {
namespace {

// The innermost cache's line: what a load of an array moves at least.
double line_bytes(const hwdesc::Device& device) {
  return device.main_memory().granule.value;
}

template <class Vector>
std::span<const typename Vector::value_type> view(const Vector& values) {
  return {values.data(), values.size()};
}

Seconds& bound_of(BoundVector& busy, Bound bound) {
  return busy[index_of(bound)];
}

}  // namespace

CacheModel::CacheModel(const ir::Kernel& kernel, const hwdesc::Device& device)
    : device_(&device),
      space_(make_iteration_space(kernel, device.native_tile)),
      footprints_(kernel, space_),
      compute_(kernel, device, space_, footprints_),
      passes_(space_.matrix ? Passes{} : passes_of(kernel, footprints_)),
      inputs_(input_streams(kernel, footprints_, line_bytes(device))),
      outputs_(output_streams(kernel, footprints_, line_bytes(device))) {
  if (space_.matrix && space_.matrix->op.valid()) find_sides(kernel);
  workers_ = std::max(device.multiplexing.workers, 1);
  for (std::size_t i = 0; i < device.memory.size() && i < kMaxLevels; ++i) {
    const hwdesc::MemoryLevel& level = device.memory[i];
    const hwdesc::TransferEngine& engine = device.engines[std::min(i, device.engines.size() - 1)];
    const double write = level.sustained_write().value;
    const double read = level.sustained_read().value;
    levels_.push_back({.read = i < device.engines.size()
                                   ? attained(read, engine, level.latency.value, workers_)
                                   : read,
                       .write = write,
                       .capacity = level.capacity.value,
                       .run_cost_bytes = engine.full_efficiency_run.value});
  }
  overhead_s_ = device.engines.back().iteration_overhead.value;
  setup_s_ = device.engines.back().setup.value;
  cycle_s_ = 1 / device.clock.value;
}

// Of a dot: which of its operands have a contracted dimension innermost in memory.
void CacheModel::find_sides(const ir::Kernel& kernel) {
  const ir::Op& op = kernel.op(space_.matrix->op);
  const auto* dot = op.get<ir::DotAttrs>();
  if (dot == nullptr) return;
  for (const std::size_t operand : {0, 1}) {
    const ir::Shape& shape = kernel.op(op.operands[operand]).shape;
    const ir::Dims order = physical_order(shape);
    const ir::Dims& contracted =
        operand == 0 ? dot->dims.lhs_contracting : dot->dims.rhs_contracting;
    if (shape.rank() > kMaxRank || order.empty()) continue;
    std::size_t minor = order.size() - 1;
    while (minor > 0 && shape.dims[static_cast<std::size_t>(order[minor])] == 1) --minor;
    const bool depth =
        std::find(contracted.begin(), contracted.end(), order[minor]) != contracted.end();
    depth_is_minor_[operand] = depth;
    sides_.push_back({.group = footprints_.group_of(op.operands[operand]),
                      .rank = shape.rank(),
                      .is_columns = operand == 1,
                      .depth_is_minor = depth});
  }
}

CacheModel::Nest CacheModel::prepare(const TileConfig& tile, std::span<Extents> groups) const {
  Nest nest;
  nest.extents = tile_extents(space_, tile);
  for (auto position = space_.order.rbegin(); position != space_.order.rend(); ++position) {
    const Loop& loop = space_.loops[*position];
    const double tiles =
        static_cast<double>(loop.size) / static_cast<double>(nest.extents[*position]);
    if (tiles <= 1) continue;
    if (passes_.count > 1 && (passes_.reduced_loops >> *position & 1U) != 0) {
      nest.extents[*position] = loop.size;
      nest.pieces *= std::ceil(tiles);
      continue;
    }
    nest.loops.push_back({*position, tiles});
    nest.tiles *= tiles;
    nest.whole_tiles *= std::ceil(tiles);
    nest.split = nest.split || loop.reduction;
    if (!loop.reduction) nest.results *= tiles;
  }
  footprints_.evaluate(nest.extents, groups);
  nest.scratchpad_bytes = footprint_bytes(nest, groups);
  set_sweeps(groups, nest);
  return nest;
}

double CacheModel::footprint_bytes(const Nest& nest, std::span<const Extents> groups) const {
  std::uint32_t cut = 0;
  for (const NestLoop& step : nest.loops) cut |= 1U << step.loop;
  const double stages = device_->engines.back().stages;
  double bytes = nest.split ? compute_.accumulator_bytes(groups) : 0;
  const auto add = [&](const MemoryStream& stream) {
    bytes += ((stream.loops & cut) != 0 ? stages : 1) *
             resident_bytes(stream.array, groups[stream.group]);
  };
  std::for_each(inputs_.begin(), inputs_.end(), add);
  std::for_each(outputs_.begin(), outputs_.end(), add);
  return bytes;
}

// Multiply-adds of one iteration.
double CacheModel::product_s(const ProductSizes& sizes, const Nest& nest) const {
  const double outside = repeated_miss_share(levels_.back().capacity, nest.scratchpad_bytes);
  const double cycles = product_cycles(sizes, *device_, space_.matrix->lhs_dtype, outside);
  if (std::isfinite(cycles)) return cycles * cycle_s_;
  return compute_.vector_matrix_cycles(nest.extents) * cycle_s_;
}

// Operands that lie against the order of the product's loops are turned while they are packed.
double CacheModel::turned_elements(const ProductSizes& sizes, std::span<const Extents> groups,
                                   std::span<const double> times) const {
  double elements = 0;
  for (const Side& side : sides_) {
    const bool is_columns = side.is_columns != sizes.exchanged;
    const bool wants_depth_minor = sizes.thin || !is_columns;
    if (side.depth_is_minor == wants_depth_minor) continue;
    double region = times[side.group];
    for (int d = 0; d < side.rank; ++d) region *= static_cast<double>(groups[side.group][d]);
    elements += region;
  }
  return elements;
}

// How often each group's region is computed: once per step of the innermost loop that moves it.
void CacheModel::count_uses(const Nest& nest, std::span<double> times) const {
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

// Returns the seconds of the loops that end in stores, less what moves between lanes: that makes
// the stores itself.
double CacheModel::add_uses(const Nest& nest, std::span<const Extents> groups,
                            BoundVector& busy) const {
  const auto add = [&](const UnitCycles& cycles) {
    const double units = cycles.vector + cycles.transcendental + cycles.cross_lane + cycles.matrix;
    bound_of(busy, Bound::kVector) += Seconds{cycles.vector * cycle_s_};
    bound_of(busy, Bound::kTranscendental) += Seconds{cycles.transcendental * cycle_s_};
    bound_of(busy, Bound::kCrossLane) += Seconds{cycles.cross_lane * cycle_s_};
    bound_of(busy, Bound::kMatrix) += Seconds{cycles.matrix * cycle_s_};
    bound_of(busy, Bound::kOnChip) += Seconds{std::max(0.0, cycles.on_chip - units) * cycle_s_};
  };
  boost::container::small_vector<double, 48> times(groups.size());
  count_uses(nest, {times.data(), times.size()});
  add(compute_.prologue(groups, view(times)));
  const UnitCycles last = compute_.epilogue(groups, view(times));
  add(last);
  if (space_.matrix) {
    const ProductSizes sizes = product_sizes(space_, nest.extents, depth_is_minor_);
    bound_of(busy, Bound::kMatrix) += Seconds{product_s(sizes, nest) * nest.tiles};
    bound_of(busy, Bound::kCrossLane) += Seconds{turned_elements(sizes, groups, view(times)) /
                                                 device_->cross_lane.elements_per_cycle * cycle_s_};
  }
  const double units = last.vector + last.transcendental + last.cross_lane;
  return (std::max(units, last.on_chip) - last.cross_lane) * cycle_s_;
}

// Seconds of each part; they add up.
BoundVector CacheModel::run(const Nest& nest, std::span<const Extents> groups,
                            const Traffic& moved) const {
  BoundVector busy{};
  const double finish_s = add_uses(nest, groups, busy);
  const double results = std::ceil(nest.results);
  const double share = std::ceil(results / workers_) / results;  // of the busiest core
  for (Seconds& part : busy) part = part * share;
  bound_of(busy, Bound::kHbmRead) += Seconds{moved.memory_s};
  // The loop that makes a result stores it: of both only the longer shows.
  bound_of(busy, Bound::kHbmWrite) += Seconds{std::max(0.0, moved.store_s - finish_s * share)};
  bound_of(busy, Bound::kOnChip) += Seconds{moved.caches_s};
  bound_of(busy, Bound::kIssue) += Seconds{moved.issue_s * share};
  bound_of(busy, Bound::kLatency) = device_->main_memory().latency;
  bound_of(busy, Bound::kOverhead) = device_->dispatch.kernel_launch +
                                     Seconds{nest.whole_tiles * nest.pieces * overhead_s_ * share};
  return busy;
}

double CacheModel::time_s(const TileConfig& tile) const {
  GroupExtents storage(footprints_.groups().size(), boost::container::default_init);
  const std::span<Extents> groups(storage.data(), storage.size());
  const Nest nest = prepare(tile, groups);
  if (nest.scratchpad_bytes > worker_memory(*device_).capacity.value) {
    return std::numeric_limits<double>::infinity();
  }
  double total = 0;
  for (const Seconds& part : run(nest, groups, traffic(nest, groups))) total += part.value;
  return total;
}

Estimate CacheModel::estimate(const TileConfig& tile) const {
  GroupExtents storage(footprints_.groups().size(), boost::container::default_init);
  const std::span<Extents> groups(storage.data(), storage.size());
  const Nest nest = prepare(tile, groups);
  Estimate estimate;
  const Traffic bytes = traffic(nest, groups);
  estimate.bounds = run(nest, groups, bytes);
  std::size_t first = 0, second = 1;
  for (std::size_t b = 0; b < kBoundCount; ++b) {
    estimate.time += estimate.bounds[b];
    if (estimate.bounds[b] > estimate.bounds[first]) first = b;
  }
  if (first == 1) second = 0;
  for (std::size_t b = 0; b < kBoundCount; ++b) {
    if (b != first && estimate.bounds[b] > estimate.bounds[second]) second = b;
  }
  estimate.bound = static_cast<Bound>(first);
  estimate.next_bound = static_cast<Bound>(second);
  estimate.next_time = estimate.time - estimate.bounds[first];
  estimate.tile = tile;
  estimate.hbm_read = Bytes{bytes.read_bytes};
  estimate.hbm_write = Bytes{bytes.write_bytes};
  estimate.scratchpad_used = Bytes{nest.scratchpad_bytes};
  estimate.iterations = nest.whole_tiles;
  estimate.flags = space_.flags;
  return estimate;
}

// A cache keeps what fits and loads the rest again: no more than a slower level, which reuse.h
// counts.
Estimate CacheModel::estimate_spilled(const TileConfig& tile) const {
  return estimate(tile);
}

std::vector<TileConfig> CacheModel::candidates(std::size_t limit) const {
  return candidate_tiles(space_, limit);
}

double CacheModel::iterations(const TileConfig& tile) const {
  return tile_count(space_, tile_extents(space_, tile));
}

double CacheModel::least_iteration_s() const {
  return overhead_s_ / workers_;
}

double CacheModel::scratchpad_bytes(const TileConfig& tile) const {
  GroupExtents storage(footprints_.groups().size(), boost::container::default_init);
  return prepare(tile, {storage.data(), storage.size()}).scratchpad_bytes;
}

std::string CacheModel::infeasible_reason(const TileConfig& tile) const {
  const hwdesc::MemoryLevel& cache = worker_memory(*device_);
  const double bytes = scratchpad_bytes(tile);
  if (bytes <= cache.capacity.value) return {};
  constexpr double kKiB = 1024.0;
  return fmt::format("a tile needs {:.1f} KiB of {} ({:.1f} KiB available)", bytes / kKiB,
                     cache.name, cache.capacity.value / kKiB);
}

}  // namespace tilecast::analytical

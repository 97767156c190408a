#include "analytical/cache_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analytical/simt_launch.h"
#include "analytical/tile_space.h"

namespace tilecast::analytical {
namespace {

double product(const LoopSizes& sizes, const std::vector<int>& loops) {
  double p = 1;
  for (const int loop : loops) p *= static_cast<double>(sizes[loop]);
  return p;
}

// At most what is outstanding can arrive in one latency (Little's law), of every core.
double attained(const hwdesc::MemoryLevel& level, const hwdesc::TransferEngine& engine,
                double workers) {
  const double rate = level.bandwidth.value * level.efficiency;
  const double limit = workers * engine.in_flight.value;
  return limit > 0 && level.latency.value > 0 ? std::min(rate, limit / level.latency.value) : rate;
}

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
      inputs_(input_streams(kernel, footprints_, line_bytes(device))),
      outputs_(output_streams(kernel, footprints_, line_bytes(device))) {
  workers_ = std::max(device.multiplexing.workers, 1);
  for (std::size_t i = 0; i < device.memory.size() && i < kMaxLevels; ++i) {
    const hwdesc::MemoryLevel& level = device.memory[i];
    const hwdesc::TransferEngine& engine = device.engines[std::min(i, device.engines.size() - 1)];
    const double write = level.write_bandwidth.value_or(level.bandwidth).value * level.efficiency;
    levels_.push_back({.read = i < device.engines.size() ? attained(level, engine, workers_)
                                                         : level.bandwidth.value * level.efficiency,
                       .write = write,
                       .capacity = level.capacity.value,
                       .run_cost_bytes = engine.full_efficiency_run.value});
  }
  overhead_s_ = device.engines.back().iteration_overhead.value;
  setup_s_ = device.engines.back().setup.value;
  cycle_s_ = 1 / device.clock.value;
}

CacheModel::Nest CacheModel::prepare(const TileConfig& tile, std::span<Extents> groups) const {
  Nest nest;
  nest.extents = tile_extents(space_, tile);
  for (auto position = space_.order.rbegin(); position != space_.order.rend(); ++position) {
    const Loop& loop = space_.loops[*position];
    const double tiles =
        static_cast<double>(loop.size) / static_cast<double>(nest.extents[*position]);
    if (tiles <= 1) continue;
    nest.loops.push_back({*position, tiles});
    nest.tiles *= tiles;
    nest.whole_tiles *= std::ceil(tiles);
    nest.split = nest.split || loop.reduction;
    if (!loop.reduction) nest.results *= tiles;
  }
  footprints_.evaluate(nest.extents, groups);
  nest.scratchpad_bytes = footprint_bytes(nest, groups);
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

double CacheModel::load_s(const MemoryStream& stream, const Extents& region,
                          std::size_t level) const {
  const double elements = resident_bytes(stream.array, region);
  const double runs = elements / contiguous_bytes(stream.array, region);
  const double lines = region_bytes(stream.array, region);
  double longest = 0;
  for (std::size_t l = level; l < levels_.size(); ++l) {
    const double bytes = l + 1 < levels_.size() ? lines : elements;
    longest = std::max(longest, (bytes + runs * levels_[l].run_cost_bytes) / levels_[l].read);
  }
  return longest;
}

double CacheModel::store_s(const MemoryStream& stream, const Extents& region) const {
  const double elements = resident_bytes(stream.array, region);
  const double runs = elements / contiguous_bytes(stream.array, region);
  const double lines = region_bytes(stream.array, region);
  const Level& memory = levels_.front();
  const Level& core = levels_.back();
  return std::max((lines + runs * memory.run_cost_bytes) / memory.write,
                  (elements + runs * core.run_cost_bytes) / core.write);
}

void CacheModel::add_loads(const Nest& nest, std::span<const Extents> groups,
                           BoundVector& busy) const {
  boost::container::small_vector<Operand, 16> operands;
  boost::container::small_vector<LoadsFrom, 16> loads(inputs_.size());
  for (const MemoryStream& input : inputs_) {
    operands.push_back({input.loops, region_bytes(input.array, groups[input.group])});
  }
  boost::container::small_vector<double, kMaxLevels> capacities;
  for (const Level& level : levels_) capacities.push_back(level.capacity);
  count_loads(view(nest.loops), view(operands), view(capacities), nest.scratchpad_bytes,
              {loads.data(), loads.size()});
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Extents& region = groups[inputs_[i].group];
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      if (loads[i][l] == 0) continue;
      const Bound bound = l == 0 ? Bound::kHbmRead : Bound::kOnChip;
      bound_of(busy, bound) += Seconds{loads[i][l] * load_s(inputs_[i], region, l)};
      bound_of(busy, Bound::kIssue) += Seconds{loads[i][l] * setup_s_};
    }
  }
  for (const MemoryStream& output : outputs_) {
    double stores = 1;
    for (const NestLoop& step : nest.loops) {
      if ((output.loops >> step.loop & 1U) != 0) stores *= step.tiles;
    }
    bound_of(busy, Bound::kHbmWrite) += Seconds{stores * store_s(output, groups[output.group])};
    bound_of(busy, Bound::kIssue) += Seconds{stores * setup_s_};
  }
}

// Multiply-adds of one iteration: rows x contraction vector operations along the columns, whose
// loop starts again for every pair of rows and four steps of the contraction.
double CacheModel::product_s(const LoopSizes& extents) const {
  const MatrixLoops& loops = *space_.matrix;
  const hwdesc::MatrixUnit& unit = device_->matrix;
  const double peak = device_->matrix_peak(loops.lhs_dtype).value / workers_;
  double multiply_adds = product(extents, loops.batch) * product(extents, loops.rows) *
                         product(extents, loops.contraction) * product(extents, loops.positions);
  if (peak <= 0) {
    const hwdesc::VectorUnit& vector = device_->vector;
    return 2 * multiply_adds * product(extents, loops.columns) /
           (static_cast<double>(vector.lanes) * vector.alus * vector.efficiency) * cycle_s_;
  }
  const double lanes = static_cast<double>(unit.columns);
  const double columns = product(extents, loops.columns);
  const double padded = std::ceil(columns / lanes) * lanes;
  constexpr double kRowsTogether = 2, kStepsTogether = 4;
  const double starts = multiply_adds / (kRowsTogether * kStepsTogether);
  return 2 * multiply_adds * padded / (peak * unit.efficiency) +
         starts * unit.fill.value * cycle_s_;
}

void CacheModel::add_uses(const Nest& nest, std::span<const Extents> groups,
                          BoundVector& busy) const {
  const auto add = [&](const UnitCycles& cycles, double times) {
    bound_of(busy, Bound::kVector) += Seconds{cycles.vector * cycle_s_ * times};
    bound_of(busy, Bound::kTranscendental) += Seconds{cycles.transcendental * cycle_s_ * times};
    bound_of(busy, Bound::kCrossLane) += Seconds{cycles.cross_lane * cycle_s_ * times};
    const double units = cycles.vector + cycles.transcendental + cycles.cross_lane + cycles.matrix;
    const double waits = std::max(0.0, cycles.on_chip - units);
    bound_of(busy, Bound::kOnChip) += Seconds{waits * cycle_s_ * times};
    bound_of(busy, Bound::kMatrix) += Seconds{cycles.matrix * cycle_s_ * times};
  };
  if (space_.matrix) {
    add(compute_.prologue(groups), nest.tiles);
    bound_of(busy, Bound::kMatrix) += Seconds{product_s(nest.extents) * nest.tiles};
    add(compute_.epilogue(groups), nest.results);
  } else {
    add(compute_.epilogue(groups), nest.tiles);
  }
}

// Seconds of each part; they add up.
BoundVector CacheModel::run(const Nest& nest, std::span<const Extents> groups) const {
  BoundVector busy{};
  add_loads(nest, groups, busy);
  add_uses(nest, groups, busy);
  const double results = std::ceil(nest.results);
  const double share = std::ceil(results / workers_) / results;  // of the busiest core
  for (const Bound bound :
       {Bound::kMatrix, Bound::kVector, Bound::kTranscendental, Bound::kCrossLane}) {
    bound_of(busy, bound) = bound_of(busy, bound) * share;
  }
  bound_of(busy, Bound::kIssue) = bound_of(busy, Bound::kIssue) * share;
  bound_of(busy, Bound::kLatency) = device_->main_memory().latency;
  bound_of(busy, Bound::kOverhead) =
      device_->dispatch.kernel_launch + Seconds{nest.whole_tiles * overhead_s_ * share};
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
  for (const Seconds& part : run(nest, groups)) total += part.value;
  return total;
}

Estimate CacheModel::explained(const TileConfig& tile) const {
  GroupExtents storage(footprints_.groups().size(), boost::container::default_init);
  const std::span<Extents> groups(storage.data(), storage.size());
  const Nest nest = prepare(tile, groups);
  Estimate estimate;
  estimate.bounds = run(nest, groups);
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
  const Level& memory = levels_.front();
  estimate.tile = tile;
  estimate.hbm_read = Bytes{estimate.bounds[index_of(Bound::kHbmRead)].value * memory.read};
  estimate.hbm_write = Bytes{estimate.bounds[index_of(Bound::kHbmWrite)].value * memory.write};
  estimate.scratchpad_used = Bytes{nest.scratchpad_bytes};
  estimate.iterations = nest.whole_tiles;
  estimate.flags = space_.flags;
  return estimate;
}

Estimate CacheModel::estimate(const TileConfig& tile) const {
  return explained(tile);
}

// A cache keeps what fits and loads the rest again: no more than a slower level, which reuse.h
// counts.
Estimate CacheModel::estimate_spilled(const TileConfig& tile) const {
  return explained(tile);
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

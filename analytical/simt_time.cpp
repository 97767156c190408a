// SimtModel: from traffic and use to time and its explanation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analytical/simt_model.h"

namespace tilecast::analytical {
namespace {

double path_s(double read_s, double write_s, bool full_duplex) {
  return full_duplex ? std::max(read_s, write_s) : read_s + write_s;
}

UnitCycles without(UnitCycles cycles, BoundMask removed) {
  if (has(removed, Bound::kMatrix)) cycles.matrix = 0;
  if (has(removed, Bound::kVector)) cycles.vector = 0;
  if (has(removed, Bound::kTranscendental)) cycles.transcendental = 0;
  if (has(removed, Bound::kCrossLane)) cycles.cross_lane = 0;
  if (has(removed, Bound::kOnChip)) cycles.on_chip = 0;
  return cycles;
}

// The busiest resource of the side that holds the kernel up, unless what comes on top is longer.
Bound binding(const std::array<double, kBoundCount>& busy, double path_s, double units_s) {
  using enum Bound;
  static constexpr Bound kPath[] = {kHbmRead, kHbmWrite, kOnChip};
  static constexpr Bound kUnits[] = {kMatrix, kVector, kTranscendental, kCrossLane, kOnChip};
  const bool memory_binds = path_s >= units_s;
  const std::span<const Bound> side =
      memory_binds ? std::span<const Bound>(kPath) : std::span<const Bound>(kUnits);
  Bound best = side.front();
  for (const Bound b : side) {
    if (busy[index_of(b)] > busy[index_of(best)]) best = b;
  }
  double longest = std::max(path_s, units_s);
  for (const Bound b : {kLatency, kFillDrain, kOverhead}) {
    if (busy[index_of(b)] <= longest) continue;
    longest = busy[index_of(b)];
    best = b;
  }
  return best;
}

}  // namespace

SimtModel::Breakdown SimtModel::run(const Block& block, double splits, BoundMask removed,
                                    std::span<const Extents> groups) const {
  const auto kept = [removed](Bound bound, double seconds) {
    return has(removed, bound) ? 0 : seconds;
  };
  const Launch launch = launch_of(*device_, block.resident, block.blocks * splits);
  const double steps = std::ceil(block.steps / splits);
  Uses use = uses(block, groups);
  use.iteration_s = compute_.overlapped(without(use.iteration, removed)) * cycle_s_;
  use.finish_s = compute_.overlapped(without(use.finish, removed)) * cycle_s_;
  use.shared_s = kept(Bound::kOnChip, use.shared_s);
  Breakdown b;
  b.traffic = traffic(block, launch, splits, groups);
  const Traffic& t = b.traffic;
  b.busy[index_of(Bound::kHbmRead)] = kept(Bound::kHbmRead, t.dram_read / memory_.read);
  b.busy[index_of(Bound::kHbmWrite)] = kept(Bound::kHbmWrite, t.dram_write / memory_.write);
  const auto cycles = [&](double iteration, double finish) {
    return launch.per_worker * (steps * iteration + finish) * cycle_s_;
  };
  const UnitCycles i = without(use.iteration, removed);
  const UnitCycles f = without(use.finish, removed);
  b.busy[index_of(Bound::kMatrix)] = cycles(i.matrix, f.matrix);
  b.busy[index_of(Bound::kVector)] = cycles(i.vector, f.vector);
  b.busy[index_of(Bound::kTranscendental)] = cycles(i.transcendental, f.transcendental);
  b.busy[index_of(Bound::kCrossLane)] = cycles(i.cross_lane, f.cross_lane);
  const double cache_s =
      has_cache_ ? kept(Bound::kOnChip, path_s(t.cache_read / cache_.read,
                                               t.cache_write / cache_.write, cache_.full_duplex))
                 : 0;
  b.busy[index_of(Bound::kOnChip)] =
      std::max({cache_s, cycles(i.on_chip, f.on_chip), launch.per_worker * steps * use.shared_s});
  const double memory_s = path_s(b.busy[index_of(Bound::kHbmRead)],
                                 b.busy[index_of(Bound::kHbmWrite)], memory_.full_duplex);
  b.path_s = std::max(memory_s, cache_s);
  const double step_s = std::max(use.iteration_s, use.shared_s);
  b.units_s = launch.per_worker * (steps * step_s + use.finish_s);

  const double latency = kept(Bound::kLatency, memory_.latency_s);
  const double overhead = kept(Bound::kOverhead, overhead_s_);
  // Streaming blocks start whenever another ends, so their transfers are not in step with a wave.
  const double in_step = space_.matrix ? b.path_s : 0;
  const double passes = passes_.count;
  const double pass_s =  // a pass waits for the one before
      block.held || block.cut ? 0
                              : (passes - 1) * (kept(Bound::kLatency, cache_.latency_s) + overhead);
  const double recurrence =
      (launch.waves * (steps * (latency + step_s) + pass_s) + in_step) / stages_;
  const double sequence = launch.waves * (steps * (step_s + overhead) + use.finish_s);
  const double busy_s = std::max(b.path_s, b.units_s);
  const double chain_s = std::max(recurrence, sequence);
  b.busy[index_of(Bound::kLatency)] = std::max(0.0, chain_s - busy_s);

  double ends = 2 * latency * (1 + (launch.waves - 1) / launch.resident);
  if (space_.matrix) {
    const double first = block.step_bytes * block.covered_blocks * splits;
    const double last = block.out_bytes * block.covered_blocks;
    ends +=
        (kept(Bound::kOnChip, first / cache_.read) + kept(Bound::kOnChip, last / cache_.write)) /
        launch.resident;
  }
  const double launches = block.cut ? passes : splits > 1 ? 2 : 1;
  b.busy[index_of(Bound::kFillDrain)] = kept(Bound::kFillDrain, block.cut ? passes * ends : ends);
  b.busy[index_of(Bound::kOverhead)] =
      kept(Bound::kOverhead, launches * device_->dispatch.kernel_launch.value);
  b.total_s = b.busy[index_of(Bound::kOverhead)] + std::max(busy_s, chain_s) +
              b.busy[index_of(Bound::kFillDrain)];
  return b;
}

SimtModel::Breakdown SimtModel::best_split(const TileConfig& tile, BoundMask removed,
                                           bool may_spill) const {
  GroupExtents storage(footprints_.groups().size(), boost::container::default_init);
  const std::span<Extents> groups(storage.data(), storage.size());
  Block block = prepare(tile, groups);
  Breakdown best;
  best.total_s = std::numeric_limits<double>::infinity();
  if (block.resident < 1) {
    if (!may_spill) return best;
    block.excess_bytes =
        std::max(0.0, block.needs.shared_bytes - worker_memory(*device_).capacity.value);
    block.resident = 1;
  }
  const double held = device_->multiplexing.workers * block.resident;
  for (double splits = 1; splits <= max_splits_ && splits < 2 * block.steps; splits *= 2) {
    if (splits > 1 && (block.blocks >= held || !space_.matrix)) break;
    const Breakdown b = run(block, splits, removed, groups);
    if (b.total_s < best.total_s) best = b;
  }
  return best;
}

double SimtModel::time_s(const TileConfig& tile) const {
  return best_split(tile, 0, false).total_s;
}

Estimate SimtModel::estimate(const TileConfig& tile) const {
  return explained(tile, false);
}

Estimate SimtModel::estimate_spilled(const TileConfig& tile) const {
  return explained(tile, true);
}

Estimate SimtModel::explained(const TileConfig& tile, bool may_spill) const {
  const Breakdown b = best_split(tile, 0, may_spill);
  Estimate estimate;
  estimate.time = Seconds{b.total_s};
  for (std::size_t i = 0; i < kBoundCount; ++i) estimate.bounds[i] = Seconds{b.busy[i]};
  estimate.bound = binding(b.busy, b.path_s, b.units_s);
  const Breakdown next = best_split(tile, 1U << index_of(estimate.bound), may_spill);
  estimate.next_time = Seconds{next.total_s};
  estimate.next_bound = binding(next.busy, next.path_s, next.units_s);
  estimate.tile = tile;
  estimate.hbm_read = Bytes{b.traffic.dram_read};
  estimate.hbm_write = Bytes{b.traffic.dram_write};
  estimate.scratchpad_used = Bytes{scratchpad_bytes(tile)};
  estimate.iterations = iterations(tile);
  estimate.flags = space_.flags;
  return estimate;
}

double SimtModel::iterations(const TileConfig& tile) const {
  const LoopSizes extents = tile_extents(space_, tile);
  double count = 1;
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    count *= std::ceil(static_cast<double>(space_.loops[i].size) / static_cast<double>(extents[i]));
  }
  return count;
}

double SimtModel::scratchpad_bytes(const TileConfig& tile) const {
  GroupExtents storage(footprints_.groups().size(), boost::container::default_init);
  return prepare(tile, {storage.data(), storage.size()}).needs.shared_bytes;
}

std::string SimtModel::infeasible_reason(const TileConfig& tile) const {
  GroupExtents storage(footprints_.groups().size(), boost::container::default_init);
  const Block block = prepare(tile, {storage.data(), storage.size()});
  if (block.resident >= 1) return {};
  constexpr double kKiB = 1024.0;
  return fmt::format(
      "a block needs {:.1f} KiB of {} ({:.1f} KiB available) and {:.1f} KiB of accumulators "
      "(half of {:.1f} KiB of registers available)",
      block.needs.shared_bytes / kKiB, worker_memory(*device_).name,
      worker_memory(*device_).capacity.value / kKiB, block.needs.register_bytes / kKiB,
      device_->multiplexing.registers_per_worker.value / kKiB);
}

}  // namespace tilecast::analytical

// SimtModel: time and accounting from traffic and compute time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analytical/simt_model.h"

namespace tilecast::analytical {
namespace {

// Time of loads that queue. `memory_s`: main memory's time alone; `waited_s`: that of the
// latencies.
double queued_s(double memory_s, double waited_s) {
  return (memory_s + waited_s + std::hypot(memory_s, waited_s)) / 2;
}

}  // namespace

Accounting SimtModel::run(const Block& block, double splits, BoundMask removed,
                          std::span<const Extents> groups) const {
  using enum Bound;
  const Launch launch = launch_of(*device_, block.resident, block.blocks * splits);
  const double steps = std::ceil(block.steps / splits);
  const MemoryPath memory = memory_.without(removed, kHbmRead, kHbmWrite);
  const MemoryPath cache = cache_.without(removed, kOnChip, kOnChip);
  const ComputeTime use = compute_time(block, groups, removed);
  const Traffic moved = traffic(block, launch, splits, groups);
  const double step_s = std::max(use.iteration_s, use.shared_s);
  const double core_s = launch.per_worker * (steps * step_s + use.finish_s);
  const double slowed = space_.matrix ? slowed_by_power(*device_, core_s) : 1;
  PerBound busy{};
  for (const auto& [bound, of_unit] : kUnits) {
    busy[index_of(bound)] = slowed * launch.per_worker *
                            (steps * use.iteration.*of_unit + use.finish.*of_unit) * cycle_s_;
  }
  busy[index_of(kHbmRead)] = (moved.dram_read + moved.dram_lost) / memory.read;
  busy[index_of(kHbmWrite)] = moved.dram_write / memory.write;
  const double cache_s =
      has_cache_ ? cache.busy_s(moved.cache_read / cache.read, moved.cache_write / cache.write) : 0;
  busy[index_of(kOnChip)] =
      std::max({cache_s, busy[index_of(kOnChip)], launch.per_worker * steps * use.shared_s});

  const double overhead = kept_s(removed, kOverhead, overhead_s_);
  const double passes = passes_.count;
  const double pass_s =  // a pass waits for the one before
      block.held || block.cut ? 0 : (passes - 1) * (cache.latency_s + overhead);
  PipelineLoop loop{.stages = stages_};
  const double memory_s = memory.busy_s(busy[index_of(kHbmRead)], busy[index_of(kHbmWrite)]);
  const bool queues = space_.matrix && has_cache_;
  const double waited_s = queues ? launch.waves * steps * memory.latency_s / stages_ : 0;
  loop.path_s = std::max(queued_s(memory_s, waited_s), cache_s);
  loop.core_s = slowed * core_s;
  // Streaming blocks start whenever another ends, so their transfers are not synchronised with a
  // wave.
  const double in_step = space_.matrix ? loop.path_s : 0;
  loop.round_trip_s = launch.waves * (steps * (memory.latency_s + step_s) + pass_s) + in_step;
  loop.in_order_s = slowed * launch.waves * (steps * (step_s + overhead) + use.finish_s);

  double ends = 2 * memory.latency_s * (1 + (launch.waves - 1) / launch.resident);
  if (space_.matrix) {
    const double first = block.step_bytes * block.covered_blocks * splits;
    const double last = block.out_bytes * block.covered_blocks;
    ends += (first / cache.read + last / cache.write) / launch.resident;
  }
  ends = kept_s(removed, kFillDrain, block.cut ? passes * ends : ends);
  const double launches = block.cut ? passes : splits > 1 ? 2 : 1;
  const double launch_s =
      kept_s(removed, kOverhead, setup_s_ + launches * device_->dispatch.kernel_launch.value);
  Accounting accounting;
  accounting.add_periods(loop, busy, 1, kCachedPaths);
  accounting.add_alone(kFillDrain, ends);
  accounting.add_alone(kOverhead, launch_s);
  accounting.total_s = launch_s + steady_period_s(loop) + ends;
  accounting.read_bytes = moved.dram_read;
  accounting.write_bytes = moved.dram_write;
  if (has_cache_) accounting.inner_bytes[0] = moved.cache_read + moved.cache_write;
  return accounting;
}

Accounting SimtModel::best_split(const TileConfig& tile, BoundMask removed, bool may_spill) const {
  GroupExtents storage = group_extents();
  const std::span<Extents> groups(storage.data(), storage.size());
  Block block = prepare(tile, groups);
  Accounting best;
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
    const Accounting split = run(block, splits, removed, groups);
    if (split.total_s < best.total_s) best = split;
  }
  return best;
}

double SimtModel::time_s(const TileConfig& tile) const {
  double time = 0;
  times_s({&tile, 1}, {&time, 1});
  return time;
}

Accounting SimtModel::account(const TileConfig& tile, BoundMask removed) const {
  Accounting accounting =
      is_scheduled(tile) ? account_schedule(tile, removed) : best_split(tile, removed, true);
  accounting.iterations = iterations(tile);
  return accounting;
}

double SimtModel::scratchpad_bytes(const TileConfig& tile) const {
  if (is_scheduled(tile)) return occupancy(schedule_of(tile), *device_).shared_bytes;
  GroupExtents storage = group_extents();
  return prepare(tile, {storage.data(), storage.size()}).needs.shared_bytes;
}

std::string SimtModel::infeasible_reason(const TileConfig& tile) const {
  if (is_scheduled(tile)) return schedule_refusal(tile);
  GroupExtents storage = group_extents();
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

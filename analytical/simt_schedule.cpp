// SimtModel: products of which the tile says how many stages and warps they were written with.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "analytical/simt_model.h"

namespace tilecast::analytical {
namespace {

constexpr double kMostWarps = 32;  // of a block (CUDA programming guide)

bool fits(const ScheduledBlock& block) {
  return block.held.resident >= 1 && block.schedule.warps <= kMostWarps;
}

}  // namespace

bool SimtModel::is_scheduled(const TileConfig& tile) const {
  return space_.matrix.has_value() && (tile.stages > 0 || tile.warps > 0) &&
         device_->execution == hwdesc::Execution::kSimt;
}

// As the tile says it is written, on top of its sizes.
void SimtModel::set_written(const TileConfig& tile, BlockSchedule& schedule) const {
  schedule.stages = tile.stages > 0 ? tile.stages : stages_;
  schedule.warps = tile.warps > 0 ? tile.warps : device_->multiplexing.warps_per_block;
}

BlockSchedule SimtModel::schedule_of(const TileConfig& tile, const LoopSizes& extents) const {
  const MatrixLoops& loops = *space_.matrix;
  BlockSchedule schedule{
      .rows = product(extents, loops.rows),
      .columns = product(extents, loops.columns),
      .depth = product(extents, loops.contraction) * product(extents, loops.positions),
      .matrices = product(extents, loops.batch),
      .operand_bytes = operand_bytes_,
      .on_lanes = matrix_rate_ <= 0};
  set_written(tile, schedule);
  return schedule;
}

ProductBlock SimtModel::product_block(const TileConfig& tile, BoundMask removed,
                                      std::span<Extents> groups) const {
  const Block block = prepare(tile, groups);
  const MatrixLoops& loops = *space_.matrix;
  const auto grid = [&](const std::vector<int>& of) {
    return std::ceil(whole_product(space_, of) / analytical::product(block.extents, of));
  };
  ProductBlock product{.schedule = schedule_of(tile, block.extents),
                       .blocks = block.blocks,
                       .steps = block.steps,
                       .grid = {.rows = grid(loops.rows), .columns = grid(loops.columns)},
                       .outside_bytes = block.out_bytes + block.once_bytes};
  const double run_cost = device_->engines[has_cache_ ? 1 : 0].full_efficiency_run.value;
  for (const Input& input : inputs_) {
    if (!input.in_loop) continue;
    const Extents& region = groups[input.stream.group];
    const double bytes = resident_bytes(input.stream.array, region);
    product.loads.push_back({bytes, input.by_row, input.by_column});
    product.cache_bytes += bytes * (1 + run_cost / contiguous_bytes(input.stream.array, region));
  }
  product.finish_s = compute_.overlapped(compute_.epilogue(groups).without(removed)) * cycle_s_;
  product.prologue_s = compute_.overlapped(compute_.prologue(groups).without(removed)) * cycle_s_;
  return product;
}

WavePeriod SimtModel::period_of(const ProductBlock& product, const ScheduledBlock& scheduled,
                                const Waves& waves, BoundMask removed) const {
  using enum Bound;
  const auto [count, resident, in_flight] = waves;
  const BlockStep& step = scheduled.step;
  const MemoryPath memory = memory_.without(removed, kHbmRead, kHbmWrite);
  const double units = units_in_use(resident * scheduled.schedule.warps, *device_);
  const double latency_s = kept_s(removed, kLatency, memory_.latency_s);
  const double cache_s = kept_s(removed, kOnChip, in_flight * product.cache_bytes / cache_.read);
  const double use_s = kept_s(removed, kLatency, step.use_s);
  const double own_load_s = cache_s / resident;
  const double moved = in_flight * product.outside_bytes;
  const double ends = 2 * latency_s + moved / memory.write + resident * product.finish_s;
  const double bytes = wave_step_bytes(product, in_flight, cache_capacity_, input_bytes_);
  return {.busy_s = {kept_s(removed, kMatrix, resident * step.matrix_s / units),
                     kept_s(removed, kOnChip, resident * step.shared_s), cache_s,
                     resident * product.prologue_s, bytes / memory.read,
                     kept_s(removed, kIssue, resident * step.issue_s / units), use_s,
                     (latency_s + own_load_s + use_s) / scheduled.schedule.stages},
          .times = count * product.steps,
          .ends_s = kept_s(removed, kFillDrain, count * ends),
          .read_bytes = bytes};
}

double SimtModel::scheduled_time_s(const ProductBlock& product) const {
  const ScheduledBlock scheduled =
      analytical::scheduled(product.schedule, multiply_rate_, *device_);
  if (!fits(scheduled)) return std::numeric_limits<double>::infinity();
  double total_s = 0;
  for (const Waves& waves : waves_of(product.blocks, scheduled.held.resident, workers_)) {
    if (waves.count <= 0) continue;
    const WavePeriod period = period_of(product, scheduled, waves, 0);
    total_s += period.times * ContendedPeriod(period.busy_s).seconds() + period.ends_s;
  }
  return total_s + device_->dispatch.kernel_launch.value;
}

// A block that does not fit is taken to.
Accounting SimtModel::account_schedule(const TileConfig& tile, BoundMask removed) const {
  GroupExtents storage = group_extents();
  const ProductBlock product = product_block(tile, removed, {storage.data(), storage.size()});
  ScheduledBlock scheduled{.schedule = product.schedule,
                           .held = occupancy(product.schedule, *device_)};
  scheduled.step = step_of(
      product.schedule, scheduled.held,
      has(removed, Bound::kMatrix) ? std::numeric_limits<double>::infinity() : multiply_rate_,
      *device_);
  Accounting sum;
  for (const Waves& waves :
       waves_of(product.blocks, std::max(scheduled.held.resident, 1.0), workers_)) {
    if (waves.count <= 0) continue;
    const WavePeriod period = period_of(product, scheduled, waves, removed);
    const ContendedPeriod contended(period.busy_s);
    for (std::size_t i = 0; i < kWaveResources.size(); ++i) {
      const Bound bound = kWaveResources[i];
      const double waited_s = contended.waited_s(i);
      const double busy_s = bound == Bound::kLatency ? waited_s
                            : i == 1                 ? 0  // cache and shared memory: the longer
                            : i == 2                 ? std::max(period.busy_s[1], period.busy_s[2])
                                                     : period.busy_s[i];
      sum.busy[index_of(bound)] += period.times * busy_s;
      sum.bound_time[index_of(bound)] += period.times * waited_s;
    }
    sum.add_alone(Bound::kFillDrain, period.ends_s);
    sum.total_s += period.times * contended.seconds() + period.ends_s;
    sum.read_bytes += period.times * period.read_bytes;
  }
  const double launch_s = kept_s(removed, Bound::kOverhead, device_->dispatch.kernel_launch.value);
  sum.add_alone(Bound::kOverhead, launch_s);
  sum.total_s += launch_s;
  sum.read_bytes = std::max(sum.read_bytes, input_bytes_);
  sum.write_bytes = output_bytes_;
  sum.busy[index_of(Bound::kHbmWrite)] =
      kept_s(removed, Bound::kHbmWrite, output_bytes_ / memory_.write);
  return sum;
}

void SimtModel::times_s(std::span<const TileConfig> tiles, std::span<double> times) const {
  GroupExtents storage = group_extents();
  ProductBlock product;
  const TileConfig* prepared = nullptr;  // what `product` is of
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const TileConfig& tile = tiles[i];
    if (!is_scheduled(tile)) {
      times[i] = best_split(tile, 0, /*may_spill=*/false).total_s;
      continue;
    }
    if (prepared == nullptr || prepared->output != tile.output || prepared->kernel != tile.kernel) {
      product = product_block(tile, 0, {storage.data(), storage.size()});
      prepared = &tile;
    }
    set_written(tile, product.schedule);
    times[i] = scheduled_time_s(product);
  }
}

std::string SimtModel::schedule_refusal(const TileConfig& tile) const {
  const BlockSchedule schedule = schedule_of(tile, tile_extents(space_, tile));
  if (schedule.warps > kMostWarps) {
    return fmt::format("a block has {} warps, {} at most", schedule.warps, kMostWarps);
  }
  const BlockOccupancy held = occupancy(schedule, *device_);
  if (held.resident >= 1) return {};
  constexpr double kKiB = 1024.0;
  return fmt::format(
      "not even one block fits a worker: out of {} ({:.1f} of {:.1f} KiB of {} for {} stages; {} "
      "registers for each of {} threads)",
      held.limit, held.shared_bytes / kKiB, worker_memory(*device_).capacity.value / kKiB,
      worker_memory(*device_).name, schedule.stages, held.registers, 32 * schedule.warps);
}

}  // namespace tilecast::analytical

// SimtModel: products whose tile states stages and warps.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "analytical/simt_model.h"
#include "base/math.h"

namespace tilecast::analytical {
namespace {

constexpr double kMostThreads = 1024;  // per block (CUDA programming guide; HIP's as well)

double most_warps(const BlockSchedule& schedule) {
  return kMostThreads / schedule.lanes;
}

bool fits(const ScheduledBlock& block) {
  return block.held.resident >= 1 && block.schedule.warps <= most_warps(block.schedule);
}

}  // namespace

bool SimtModel::has_schedules() const {
  return space_.matrix.has_value() && device_->execution == hwdesc::Execution::kSimt;
}

// Sets how the tile says the block is written; sizes are set by schedule_of().
void SimtModel::set_written(const TileConfig& tile, const LoopSizes& extents,
                            BlockSchedule& schedule) const {
  schedule.stages = tile.stages > 0 ? tile.stages : stages_;
  schedule.warps = tile.warps > 0 ? tile.warps : device_->multiplexing.warps_per_block;
  schedule.on_lanes = matrix_rate_ <= 0;
  schedule.direct = tile.direct;
  schedule.threads = {};
  schedule.lanes = BlockSchedule{}.lanes;
  schedule.windows = {.bytes = schedule.windows.bytes};
  if (tile.threads.empty()) return;
  const MatrixLoops& loops = *space_.matrix;
  const auto of = [&](const ir::Dims& list, const std::vector<int>& dims) {
    double all = 1;
    for (const int loop : dims) {
      const auto slot = static_cast<std::size_t>(space_.loops[loop].slot);
      if (slot < list.size()) all *= static_cast<double>(list[slot]);
    }
    return all;
  };
  schedule.on_lanes = true;
  schedule.lanes = device_->multiplexing.warp_lanes;
  schedule.threads.rows = of(tile.threads, loops.rows) * of(tile.threads, loops.batch);
  schedule.threads.columns = of(tile.threads, loops.columns);
  if (!tile.vector.empty()) {
    schedule.threads.row_vector = of(tile.vector, loops.rows);
    schedule.threads.column_vector = of(tile.vector, loops.columns);
  }
  if (tile.warps == 0) {
    schedule.warps = std::ceil(schedule.threads.rows * schedule.threads.columns / schedule.lanes);
  }
  if (!loops.positions.empty()) set_reads(tile.threads, extents, schedule);
}

// Along a dimension a thread's results are `apart`, and their windows of `size` overlap: shared
// elements are read once, and the reads of a window row are in flight together. If the tile crosses
// the edge and inputs are not copied, each read is guarded: no read is shared or issued before the
// previous multiply-add. If guards are branches of the whole warp, reads of copied inputs are not
// shared either, and several results of a thread stay in memory (WindowReads).
void SimtModel::set_reads(const ir::Dims& threads, const LoopSizes& extents,
                          BlockSchedule& schedule) const {
  const MatrixLoops& loops = *space_.matrix;
  constexpr double kGuard = 2;  // instructions: a comparison and its dependent
  const bool branches = device_->multiplexing.guards_branch;
  const bool guarded =
      (schedule.direct || branches) && std::ranges::any_of(loops.window_rows, [&](int row) {
        return space_.loops[row].size % extents[row] != 0;
      });
  const double of_thread = schedule.rows / schedule.threads.rows;
  double reads = schedule.depth * of_thread;
  for (std::size_t i = 0; i < loops.positions.size() && !guarded; ++i) {
    const int row = loops.window_rows[i];
    if (static_cast<std::size_t>(space_.loops[row].slot) >= threads.size()) continue;
    const auto apart = static_cast<double>(threads[space_.loops[row].slot]);
    const auto size = static_cast<double>(extents[loops.positions[i]]);
    const double results = static_cast<double>(extents[row]) / apart;
    reads *= ((results - 1) * std::min(apart, size) + size) / (results * size);
  }
  schedule.windows.reads = reads;
  schedule.windows.results_in_memory = guarded && branches && of_thread > 1;
  const bool one_by_one = guarded && schedule.direct;
  schedule.windows.guards = one_by_one ? kGuard * static_cast<double>(loops.positions.size()) : 0;
  schedule.windows.ahead =
      one_by_one ? schedule.depth / reads : static_cast<double>(extents[loops.positions.back()]);
  if (one_by_one && branches) {  // one wait for the window's element, one for the result
    schedule.windows.waits = schedule.windows.results_in_memory ? 2 : 1;
  }
}

BlockSchedule SimtModel::schedule_of(const TileConfig& tile, const LoopSizes& extents,
                                     std::span<const Extents> groups) const {
  const MatrixLoops& loops = *space_.matrix;
  BlockSchedule schedule{
      .rows = product(extents, loops.rows),
      .columns = product(extents, loops.columns),
      .depth = product(extents, loops.contraction) * product(extents, loops.positions),
      .matrices = product(extents, loops.batch),
      .operand_bytes = operand_bytes_};
  for (const Input& input : inputs_) {
    if (loops.positions.empty() || !input.by_row) continue;
    schedule.windows.bytes += resident_bytes(input.stream.array, groups[input.stream.group]);
  }
  set_written(tile, extents, schedule);
  return schedule;
}

BlockSchedule SimtModel::schedule_of(const TileConfig& tile) const {
  GroupExtents groups = group_extents();
  const LoopSizes extents = tile_extents(space_, tile);
  footprints_.evaluate(extents, {groups.data(), groups.size()});
  return schedule_of(tile, extents, {groups.data(), groups.size()});
}

double SimtModel::rate_of(const BlockSchedule& schedule) const {
  return schedule.on_lanes ? lane_rate_ : matrix_rate_;
}

ProductBlock SimtModel::product_block(const TileConfig& tile, BoundMask removed,
                                      std::span<Extents> groups) const {
  const Block block = prepare(tile, groups);
  const MatrixLoops& loops = *space_.matrix;
  const auto grid = [&](const std::vector<int>& of) {
    return std::ceil(whole_product(space_, of) / analytical::product(block.extents, of));
  };
  double blocks = 1;
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    const Loop& loop = space_.loops[i];
    if (loop.reduction || loop.grouped) continue;
    blocks *= static_cast<double>(base::ceil_div(loop.size, block.extents[i]) + loop.revisits);
  }
  ProductBlock product{.extents = block.extents,
                       .schedule = schedule_of(tile, block.extents, groups),
                       .blocks = blocks,
                       .steps = block.steps,
                       .grid = {.rows = grid(loops.rows), .columns = grid(loops.columns)},
                       .outside_bytes = block.out_bytes + block.once_bytes};
  const double run_cost = device_->engines[has_cache_ ? 1 : 0].full_efficiency_run.value;
  for (const Input& input : inputs_) {
    if (!input.in_loop) continue;
    const Extents& region = groups[input.stream.group];
    const double bytes = resident_bytes(input.stream.array, region);
    product.loads.push_back({bytes, input.by_row, input.by_column, input.broadcast});
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
  const double cache_bytes = product.cache_bytes + step.result_bytes;
  const double cache_s = kept_s(removed, kOnChip, in_flight * cache_bytes / cache_.read);
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
      analytical::scheduled(product.schedule, rate_of(product.schedule), *device_);
  if (!fits(scheduled)) return std::numeric_limits<double>::infinity();
  double total_s = 0;
  for (const Waves& waves : waves_of(product.blocks, scheduled.held.resident, workers_)) {
    if (waves.count <= 0) continue;
    const WavePeriod period = period_of(product, scheduled, waves, 0);
    total_s += period.times * ContendedPeriod(period.busy_s).seconds() + period.ends_s;
  }
  return total_s + device_->dispatch.kernel_launch.value;
}

// A block that does not fit is accounted for as if one did.
Accounting SimtModel::account_schedule(const TileConfig& tile, BoundMask removed) const {
  GroupExtents storage = group_extents();
  const ProductBlock product = product_block(tile, removed, {storage.data(), storage.size()});
  ScheduledBlock scheduled{.schedule = product.schedule,
                           .held = occupancy(product.schedule, *device_)};
  scheduled.step = step_of(product.schedule, scheduled.held,
                           has(removed, Bound::kMatrix) ? std::numeric_limits<double>::infinity()
                                                        : rate_of(product.schedule),
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
                            : i == 1                 ? 0  // counted with i == 2: the longer
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
  if (has_cache_) {
    sum.inner_bytes[0] =
        product.blocks * (product.steps * product.cache_bytes + product.outside_bytes);
  }
  sum.busy[index_of(Bound::kHbmWrite)] =
      kept_s(removed, Bound::kHbmWrite, output_bytes_ / memory_.write);
  return sum;
}

void SimtModel::times_s(std::span<const TileConfig> tiles, std::span<double> times) const {
  GroupExtents storage = group_extents();
  ProductBlock product;
  const TileConfig* prepared = nullptr;  // the tile `product` was computed from
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const TileConfig& tile = tiles[i];
    if (!is_scheduled(tile)) {
      times[i] = best_split(tile, 0, nullptr);
      continue;
    }
    if (prepared == nullptr || prepared->output != tile.output || prepared->kernel != tile.kernel) {
      product = product_block(tile, 0, {storage.data(), storage.size()});
      prepared = &tile;
    }
    set_written(tile, product.extents, product.schedule);
    times[i] = scheduled_time_s(product);
  }
}

std::string SimtModel::schedule_refusal(const TileConfig& tile) const {
  const BlockSchedule schedule = schedule_of(tile);
  if (schedule.warps > most_warps(schedule)) {
    return fmt::format("a block has {} warps, {} at most", schedule.warps, most_warps(schedule));
  }
  const BlockOccupancy held = occupancy(schedule, *device_);
  if (held.resident >= 1) return {};
  constexpr double kKiB = 1024.0;
  return fmt::format(
      "not even one block fits a worker: out of {} ({:.1f} of {:.1f} KiB of {} for {} stages; {} "
      "registers for each of {} threads)",
      held.limit, held.shared_bytes / kKiB, worker_memory(*device_).capacity.value / kKiB,
      worker_memory(*device_).name, schedule.stages, held.registers,
      schedule.lanes * schedule.warps);
}

}  // namespace tilecast::analytical

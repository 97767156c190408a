// SimtModel: products of which the tile says how many stages and warps they were written with.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "analytical/simt_model.h"

namespace tilecast::analytical {
namespace {

// Blocks of a wave drift apart by this share of their steps: what they share must stay in the cache
// so long. Seen on the same products: without it 16 x 32 tiles of long contractions come out three
// times too fast; 5 to 20 % order tiles alike (25,600 runs of 892 products on an A100).
constexpr double kDrift = 0.1;
constexpr double kMostWarps = 32;   // of a block (CUDA programming guide)
constexpr double kGroupedRows = 8;  // tiles whose columns run together (Triton's GROUP_M)

constexpr std::size_t kResources = 8;
struct Occupied {  // seconds of one resource in one period
  Bound bound;
  double seconds;
};

// Steps of several blocks get in each other's way where two resources are nearly busy: fourth
// powers are added. pipeline.h's bound is the limit of ever higher powers. Of those the fourth
// orders the same products best, the third to the tenth hardly worse.
struct ContendedPeriod {
  double seconds = 0;
  std::array<double, kResources> share{};  // of each resource in it

  explicit ContendedPeriod(const std::array<Occupied, kResources>& resources) {
    double longest = 0, sum = 0;
    for (const Occupied& one : resources) longest = std::max(longest, one.seconds);
    if (longest <= 0) return;
    for (std::size_t i = 0; i < resources.size(); ++i) {
      const double square = std::pow(resources[i].seconds / longest, 2);
      share[i] = square * square;
      sum += share[i];
    }
    for (double& part : share) part /= sum;
    seconds = longest * std::sqrt(std::sqrt(sum));
  }
};

double missed(double capacity, double bytes) {
  return bytes > 0 ? std::max(0.0, 1 - capacity / bytes) : 0;
}

}  // namespace

bool SimtModel::is_scheduled(const TileConfig& tile) const {
  return space_.matrix.has_value() && (tile.stages > 0 || tile.warps > 0) &&
         device_->execution == hwdesc::Execution::kSimt;
}

BlockSchedule SimtModel::schedule_of(const TileConfig& tile) const {
  const LoopSizes extents = tile_extents(space_, tile);
  const MatrixLoops& loops = *space_.matrix;
  return {.rows = product(extents, loops.rows),
          .columns = product(extents, loops.columns),
          .depth = product(extents, loops.contraction) * product(extents, loops.positions),
          .matrices = product(extents, loops.batch),
          .stages = tile.stages > 0 ? tile.stages : stages_,
          .warps = static_cast<double>(tile.warps > 0 ? tile.warps
                                                      : device_->multiplexing.warps_per_block),
          .operand_bytes = operand_bytes_,
          .on_lanes = matrix_rate_ <= 0};
}

// What the blocks of a wave load from main memory in one step. Tiles of a wave stand together in
// groups of rows; what waves before left in the cache is not loaded again, and what blocks that
// drifted apart no longer find there is.
double SimtModel::wave_step_bytes(const Block& block, double in_flight,
                                  std::span<const Extents> groups) const {
  const MatrixLoops& loops = *space_.matrix;
  const auto grid = [&](const std::vector<int>& of) {
    return whole_product(space_, of) / product(block.extents, of);
  };
  WaveShape wave{.rows = std::min(std::ceil(grid(loops.rows)), kGroupedRows)};
  const double columns = std::ceil(grid(loops.columns));
  wave.columns = std::clamp(std::ceil(in_flight / wave.rows), 1.0, columns);
  wave.rows = std::clamp(in_flight / wave.columns, wave.rows, std::ceil(grid(loops.rows)));
  double alone = 0, together = 0;
  for (const Input& input : inputs_) {
    if (!input.in_loop) continue;
    const double loaded =
        in_flight * resident_bytes(input.stream.array, groups[input.stream.group]);
    alone += loaded;
    together += loaded / std::clamp(reuse(input, block, wave, in_flight), 1.0, in_flight);
  }
  const double waves = std::ceil(block.blocks / in_flight);
  const double everything = together * block.steps * waves;
  const double new_share = std::max(missed(cache_capacity_, input_bytes_),
                                    std::min(1.0, input_bytes_ / std::max(everything, 1.0)));
  const double between = together * std::max(kDrift * block.steps, 1.0);
  return together * new_share + (alone - together) * missed(cache_capacity_, between);
}

void SimtModel::add_waves(const ScheduledBlock& scheduled, const Waves& waves, BoundMask removed,
                          std::span<const Extents> groups, Accounting& sum) const {
  using enum Bound;
  const auto [count, resident, in_flight] = waves;
  if (count <= 0) return;
  const Block& block = scheduled.block;
  const BlockStep& step = scheduled.step;
  const MemoryPath memory = memory_.without(removed, kHbmRead, kHbmWrite);
  const double units = units_in_use(resident * scheduled.schedule.warps, *device_);
  const double bytes = wave_step_bytes(block, in_flight, groups);
  const double latency_s = kept_s(removed, kLatency, memory_.latency_s);
  const double cache_s = kept_s(removed, kOnChip, in_flight * scheduled.cache_bytes / cache_.read);
  const double use_s = kept_s(removed, kLatency, step.use_s);
  const double own_load_s = cache_s / resident;
  const std::array<Occupied, kResources> resources{{
      {kMatrix, kept_s(removed, kMatrix, resident * step.matrix_s / units)},
      {kOnChip, kept_s(removed, kOnChip, resident * step.shared_s)},
      {kOnChip, cache_s},
      {kVector, resident * scheduled.prologue_s},
      {kHbmRead, bytes / memory.read},
      {kIssue, kept_s(removed, kIssue, resident * step.issue_s / units)},
      {kLatency, use_s},
      {kLatency, (latency_s + own_load_s + use_s) / scheduled.schedule.stages},
  }};
  const ContendedPeriod period(resources);
  const double periods = count * block.steps;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    double& busy = sum.busy[index_of(resources[i].bound)];
    busy += periods * (resources[i].bound == kLatency ? period.share[i] * period.seconds
                       : i == 1                       ? 0  // cache and shared memory: the longer
                       : i == 2 ? std::max(resources[1].seconds, resources[2].seconds)
                                : resources[i].seconds);
    sum.bound_time[index_of(resources[i].bound)] += periods * period.share[i] * period.seconds;
  }
  const double moved = in_flight * (block.out_bytes + block.once_bytes);
  const double ends = 2 * latency_s + moved / memory.write + resident * scheduled.finish_s;
  sum.add_alone(kFillDrain, kept_s(removed, kFillDrain, count * ends));
  sum.total_s += periods * period.seconds + kept_s(removed, kFillDrain, count * ends);
  sum.read_bytes += periods * bytes;
}

SimtModel::ScheduledBlock SimtModel::scheduled_block(const TileConfig& tile, BoundMask removed,
                                                     std::span<Extents> groups) const {
  ScheduledBlock scheduled{.block = prepare(tile, groups), .schedule = schedule_of(tile)};
  scheduled.held = occupancy(scheduled.schedule, *device_);
  constexpr double kMultiplyAdd = 2;
  const double lanes = kMultiplyAdd * device_->vector_peak().value * device_->vector.efficiency /
                       device_->multiplexing.workers;
  const double rate = matrix_rate_ > 0 ? matrix_rate_ : lanes;
  scheduled.step = step_of(
      scheduled.schedule, scheduled.held,
      has(removed, Bound::kMatrix) ? std::numeric_limits<double>::infinity() : rate, *device_);
  scheduled.finish_s = compute_.overlapped(compute_.epilogue(groups).without(removed)) * cycle_s_;
  scheduled.prologue_s = compute_.overlapped(compute_.prologue(groups).without(removed)) * cycle_s_;
  const double run_cost = device_->engines[has_cache_ ? 1 : 0].full_efficiency_run.value;
  for (const Input& input : inputs_) {
    if (!input.in_loop) continue;
    const Extents& region = groups[input.stream.group];
    scheduled.cache_bytes += resident_bytes(input.stream.array, region) *
                             (1 + run_cost / contiguous_bytes(input.stream.array, region));
  }
  return scheduled;
}

Accounting SimtModel::account_schedule(const TileConfig& tile, BoundMask removed,
                                       bool may_spill) const {
  GroupExtents storage = group_extents();
  const std::span<Extents> groups(storage.data(), storage.size());
  const ScheduledBlock scheduled = scheduled_block(tile, removed, groups);
  const double workers = std::max(device_->multiplexing.workers, 1);
  const double resident = std::max(scheduled.held.resident, 1.0);
  const double blocks = scheduled.block.blocks, together = workers * resident;
  const double full = std::floor(blocks / together), left = blocks - full * together;
  Accounting sum;
  const bool fits = scheduled.held.resident >= 1 && scheduled.schedule.warps <= kMostWarps;
  if (!fits && !may_spill) {
    sum.total_s = std::numeric_limits<double>::infinity();
    return sum;
  }
  const Waves whole{.count = full, .resident = resident, .in_flight = together};
  const Waves last{
      .count = left > 0 ? 1.0 : 0.0, .resident = std::ceil(left / workers), .in_flight = left};
  add_waves(scheduled, whole, removed, groups, sum);
  add_waves(scheduled, last, removed, groups, sum);
  const double launch_s = kept_s(removed, Bound::kOverhead, device_->dispatch.kernel_launch.value);
  sum.add_alone(Bound::kOverhead, launch_s);
  sum.total_s += launch_s;
  sum.read_bytes = std::max(sum.read_bytes, input_bytes_);
  sum.write_bytes = output_bytes_;
  sum.busy[index_of(Bound::kHbmWrite)] =
      kept_s(removed, Bound::kHbmWrite, output_bytes_ / memory_.write);
  return sum;
}

std::string SimtModel::schedule_refusal(const TileConfig& tile) const {
  const BlockSchedule schedule = schedule_of(tile);
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

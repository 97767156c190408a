#include "analytical/scratchpad_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <cmath>
#include <limits>

#include "analytical/transfer.h"

namespace tilecast::analytical {
namespace {

// Results smaller than this share of the scratchpad stay there while outer loops revisit them.
constexpr double kAccumulatorShare = 1.0 / 8;
// Ragged loops costed exactly; others count as interior tiles.
constexpr int kMaxRagged = 3;
constexpr int kNumberBits = 32;  // enough for a tile's index

// Tile indices sorted so that tiles with equal output cuts are adjacent and share work.
std::vector<std::uint64_t> grouped_by_output(std::span<const TileConfig> tiles) {
  std::vector<std::uint64_t> keyed(tiles.size());  // hash of the output cut, tile index
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    keyed[i] = boost::hash_range(tiles[i].output.begin(), tiles[i].output.end()) << kNumberBits | i;
  }
  std::ranges::sort(keyed);
  for (std::uint64_t& key : keyed) key &= (std::uint64_t{1} << kNumberBits) - 1;
  return keyed;
}

}  // namespace

ScratchpadModel::ScratchpadModel(const ir::Kernel& kernel, const hwdesc::Device& device)
    : TileModel(kernel, device), compute_(kernel, device, space_, footprints_) {
  const hwdesc::TransferEngine& engine = device.engines.front();
  rates_ = {.memory = memory_path(device.main_memory()),
            .setup_s = engine.setup.value,
            .overhead_s = engine.iteration_overhead.value,
            .launch_s = device.dispatch.kernel_launch.value};
  stages_ = engine.stages;
  const auto limit = static_cast<double>(kernel.window_bytes());
  window_bytes_ = device.scratchpad().capacity.value;
  if (limit > 0) window_bytes_ = std::min(limit, window_bytes_);
  add_streams(kernel);
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    if (space_.loops[i].reduction) reductions_ |= 1U << i;
  }
  makes_operands_ = space_.matrix.has_value();
  if (!makes_operands_) return;
  GroupExtents storage = group_extents();
  const std::span<Extents> groups(storage.data(), storage.size());
  footprints_.evaluate(tile_extents(space_, full_tile(space_)), groups);
  makes_operands_ = compute_.overlapped(operands_made(Footprints::kEveryLoop, groups, 0)) > 0;
}

void ScratchpadModel::add_streams(const ir::Kernel& kernel) {
  const hwdesc::MemoryLevel& memory = device_->main_memory();
  const hwdesc::TransferEngine& engine = device_->engines.front();
  const auto add = [&](const MemoryStream& stream, bool written, bool resident) {
    const bool outside = !is_resident(kernel.op(stream.op).shape, *device_);
    streams_.push_back(
        {stream, outside, written, resident, outside && !resident ? stream.loops : 0});
    streams_.back().array.run_cost_bytes = engine.full_efficiency_run.value;
    streams_.back().array.descriptor_strides = engine.descriptor_strides;
  };
  for (const MemoryStream& input : input_streams(kernel, footprints_, memory.granule.value)) {
    add(input, /*written=*/false, /*resident=*/false);
  }
  const double small = kAccumulatorShare * device_->scratchpad().capacity.value;
  for (const MemoryStream& output : output_streams(kernel, footprints_, memory.granule.value)) {
    add(output, /*written=*/true, revisited(output.loops) && output.once_bytes <= small);
  }
}

// Whether an outer loop returns to the same result tile after inner loops moved away from it.
bool ScratchpadModel::revisited(std::uint32_t loops) const {
  bool outside = false;
  for (const int loop : space_.order) {
    const bool moves_tile = (loops >> loop & 1U) != 0;
    if (moves_tile && outside) return true;
    outside = outside || (!moves_tile && !space_.loops[loop].reduction);
  }
  return false;
}

ScratchpadModel::Rates ScratchpadModel::rates_without(BoundMask removed) const {
  return {.memory = rates_.memory.without(removed, Bound::kHbmRead, Bound::kHbmWrite),
          .setup_s = kept_s(removed, Bound::kIssue, rates_.setup_s),
          .overhead_s = kept_s(removed, Bound::kOverhead, rates_.overhead_s),
          .launch_s = kept_s(removed, Bound::kOverhead, rates_.launch_s)};
}

double ScratchpadModel::chain_excess_s(double busy_s, BoundMask removed) const {
  return kept_s(removed, Bound::kLatency,
                std::max(compute_.chain_cycles() * cycle_s_ - busy_s, 0.0));
}

void ScratchpadModel::update_compute(Run& run) const {
  ComputeTime& time = run.compute;
  const std::span<const Extents> groups = run.regions();
  if (depends(compute_.loops().epilogue, run.moved)) {
    UnitCycles& after = space_.matrix ? time.finish : time.iteration;
    double& after_s = space_.matrix ? time.finish_s : time.iteration_s;
    after = compute_.epilogue(groups).without(run.removed);
    after_s = compute_.overlapped(after) * cycle_s_;
    time.chain_s = chain_excess_s(after_s, run.removed);
    after_s += time.chain_s;
  }
  if (!space_.matrix) return;
  if (depends(compute_.loops().anchor, run.moved)) time.partial = compute_.accumulate(groups);
  UnitCycles product;
  product.matrix = compute_.matrix_cycles(run.shape.extents);
  if (depends(compute_.loops().prologue, run.moved)) {
    time.loads = compute_.prologue(groups).on_chip;
  }
  product.on_chip = time.loads;
  if (!compute_.has_matrix_work()) {
    product.vector = compute_.vector_matrix_cycles(run.shape.extents);
  }
  time.fill_s = 0;
  if (splits_reduction(run.shape)) {  // the next iteration adds to this one's result
    product.vector += time.partial.vector;
    product.on_chip += time.partial.on_chip;
  } else {
    const double fill = compute_.matrix_fill_cycles();
    product.matrix -= fill;
    time.fill_s = kept_s(run.removed, Bound::kMatrix, fill * cycle_s_);
  }
  time.iteration = product.without(run.removed);
  time.iteration_s = compute_.overlapped(time.iteration) * cycle_s_;
}

// The core issues transfers, runs the loop and computes; the engine moves bytes.
PipelineLoop ScratchpadModel::loop_of(const Transfers& moved, double use_s,
                                      const Rates& rates) const {
  const double core = use_s + rates.setup_s * moved.count() + rates.overhead_s;
  const double wait = moved.read.count > 0 ? rates.memory.latency_s : 0;
  const double update_s = moved.read.engine_s + moved.write.engine_s + core;
  return {.path_s = rates.memory.busy_s(moved.read.engine_s, moved.write.engine_s),
          .core_s = core,
          .round_trip_s = wait + moved.read.engine_s + core,
          .in_order_s = moved.updates > 0 ? update_s + moved.updates * rates.update_wait_s() : 0,
          .stages = stages_};
}

// Cycles of vector units to compute operands for the products, when one of the loops `changed`
// moves them.
UnitCycles ScratchpadModel::operands_made(std::uint32_t changed, std::span<const Extents> groups,
                                          BoundMask removed) const {
  if (!makes_operands_) return {};
  boost::container::small_vector<double, 48> times(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    times[g] = depends(footprints_.groups()[g].loops, changed) ? 1 : 0;
  }
  UnitCycles made = compute_.prologue(groups, {times.data(), times.size()}).without(removed);
  made.on_chip = 0;
  return made;
}

// Busy time per resource in one iteration.
PerBound ScratchpadModel::busy_of(const Run& run, const Transfers& moved, const UnitCycles& made,
                                  bool finishes) const {
  PerBound busy{};
  busy[index_of(Bound::kHbmRead)] = moved.read.engine_s;
  busy[index_of(Bound::kHbmWrite)] = moved.write.engine_s;
  busy[index_of(Bound::kIssue)] = run.rates.setup_s * moved.count();
  busy[index_of(Bound::kOverhead)] = run.rates.overhead_s;
  busy[index_of(Bound::kLatency)] = finishes || !space_.matrix ? run.compute.chain_s : 0;
  for (const auto& [bound, of_unit] : kUnits) {
    const double finish = finishes ? run.compute.finish.*of_unit : 0;
    busy[index_of(bound)] = (made.*of_unit + run.compute.iteration.*of_unit + finish) * cycle_s_;
  }
  return busy;
}

double ScratchpadModel::steps_s(const Run& run, std::uint32_t changed, bool finishes, double count,
                                const WindowCosts& costs) const {
  const Transfers moved = transfers(changed, costs);
  UnitCycles made;
  double made_s = 0;
  if (makes_operands_) {
    made = operands_made(changed, run.regions(), run.removed);
    made_s = compute_.overlapped(made) * cycle_s_;
  }
  const double use_s = made_s + run.compute.iteration_s + (finishes ? run.compute.finish_s : 0);
  const PipelineLoop period = loop_of(moved, use_s, run.rates);
  if (run.accounting != nullptr) {
    run.accounting->add_periods(period, busy_of(run, moved, made, finishes), count, kMemoryPaths);
    run.accounting->read_bytes += count * moved.read.bytes;
    run.accounting->write_bytes += count * moved.write.bytes;
  }
  return count * steady_period_s(period);
}

double ScratchpadModel::transitions_s(const Run& run) const {
  const TileShape& shape = run.shape;
  int cut[kMaxLoops], ragged[kMaxRagged];
  int cut_count = 0, ragged_count = 0;
  std::uint32_t cut_loops = 0, ragged_loops = 0;
  for (const int loop : space_.order) {
    if (shape.trips[loop] <= 1 && space_.loops[loop].revisits == 0) continue;
    cut[cut_count++] = loop;
    if (shape.trips[loop] <= 1) continue;
    cut_loops |= 1U << loop;
    const bool is_ragged = shape.trips[loop] * shape.extents[loop] != space_.loops[loop].size;
    if (!is_ragged || ragged_count == kMaxRagged) continue;
    ragged[ragged_count++] = loop;
    ragged_loops |= 1U << loop;
  }
  GroupExtents edge_regions;
  double total = 0;
  for (int combination = 0; combination < 1 << ragged_count; ++combination) {
    std::uint32_t edges = 0;  // loops at their last, smaller tile
    for (int i = 0; i < ragged_count; ++i) edges |= (combination >> i & 1U) << ragged[i];
    WindowCosts at_edges;
    if (edges != 0) at_edges = costs_at(edges, run, edge_regions);
    const WindowCosts& costs = edges == 0 ? run.costs : at_edges;
    double outer = 1;  // positions of the outer loops, at their edge or not as `edges` says
    std::uint32_t inner = cut_loops;  // without the group loop, which has no place in the order
    for (int i = 0; i < cut_count; ++i) {
      const std::uint32_t changed = inner;  // this loop and the loops inside it, which restart
      const std::uint32_t bit = 1U << cut[i];
      inner &= ~bit;
      const Loop& loop = space_.loops[cut[i]];
      const double revisits = static_cast<double>(loop.revisits);
      const bool at_edge = (edges & bit) != 0;
      const double positions =
          at_edge ? 1
                  : static_cast<double>(shape.trips[cut[i]]) - ((ragged_loops & bit) != 0 ? 1 : 0);
      const double arrivals = at_edge ? 1 : positions - 1;
      const double weight = outer * arrivals;
      const double next_groups = at_edge ? 0 : outer * revisits;
      outer *= positions + (at_edge ? 0 : revisits);
      edges &= ~bit;
      if (edges != 0) continue;  // inner loops restart with a whole tile
      if (weight > 0) total += steps_s(run, changed, !loop.reduction, weight, costs);
      if (next_groups == 0) continue;
      const std::uint32_t of_group = 1U << space_.matrix->group_loop;
      total += steps_s(run, (changed & ~bit) | of_group, !loop.reduction, next_groups, costs);
    }
  }
  return total;
}

// Window costs when the loops `edges` are at their last tiles. `regions`: scratch space.
ScratchpadModel::WindowCosts ScratchpadModel::costs_at(std::uint32_t edges, const Run& run,
                                                       GroupExtents& regions) const {
  LoopSizes extents = run.shape.extents;
  for (const int loop : space_.order) {
    if ((edges >> loop & 1U) == 0) continue;
    extents[loop] = space_.loops[loop].size - (run.shape.trips[loop] - 1) * extents[loop];
  }
  regions = run.groups;
  footprints_.evaluate(extents, {regions.data(), regions.size()}, edges);
  WindowCosts costs = run.costs;
  update_costs(costs, edges, {regions.data(), regions.size()}, run.rates);
  return costs;
}

double ScratchpadModel::ends_s(const Run& run) const {
  const MemoryPath& memory = run.rates.memory;
  const BoundMask removed = run.removed;
  Transfers first;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const Stream& stream = streams_[i];
    if (!stream.in_main_memory) continue;
    if (!stream.resident) {
      first.add(stream, run.costs[i]);
      continue;
    }
    const double bytes = stream.once_bytes;
    first.write.add({.bytes = bytes, .engine_s = bytes / memory.write});
  }
  const auto end_s = [&](const Transfers::Direction& direction) {
    return direction.count > 0 ? memory.latency_s + direction.engine_s : 0;
  };
  const double more_updates = std::max(first.updates - 1, 0.0) * run.rates.update_wait_s();
  const double ends =
      kept_s(removed, Bound::kFillDrain, end_s(first.read) + end_s(first.write) + more_updates);
  // The first loads and last stores are issued by the core while it has nothing else to do.
  const double issue = run.rates.setup_s * first.count();
  const UnitCycles made = operands_made(Footprints::kEveryLoop, run.regions(), removed);
  const double last_use =
      compute_.overlapped(made) * cycle_s_ + run.compute.iteration_s + run.compute.finish_s;
  if (run.accounting != nullptr) {
    run.accounting->add_occupied(loop_of({}, last_use, run.rates), busy_of(run, {}, made, true), 1,
                                 kMemoryPaths);
    run.accounting->add_alone(Bound::kIssue, issue);
    run.accounting->add_alone(Bound::kFillDrain, ends);
    run.accounting->add_alone(Bound::kMatrix, run.compute.fill_s);
    run.accounting->read_bytes += first.read.bytes;
    run.accounting->write_bytes += first.write.bytes;
  }
  return ends + issue + run.rates.overhead_s + last_use + run.compute.fill_s;
}

double ScratchpadModel::run_s(const TileConfig& tile, Run& run) const {
  move_to(tile, run);
  if (run.accounting == nullptr && run.shape.scratchpad_bytes > window_bytes_) {
    return std::numeric_limits<double>::infinity();
  }
  const double excess = run.shape.scratchpad_bytes - device_->scratchpad().capacity.value;
  const MemoryPath& memory = run.rates.memory;
  const double spill_s = excess > 0 ? excess / memory.write : 0;
  const double refill_s = excess > 0 ? excess / memory.read : 0;
  update_compute(run);
  update_costs(run.costs, run.moved, run.regions(), run.rates);
  run.moved = 0;
  if (run.accounting != nullptr) {
    run.accounting->add_alone(Bound::kOverhead, run.rates.launch_s);
    run.accounting->add_alone(Bound::kHbmWrite, spill_s);
    run.accounting->add_alone(Bound::kHbmRead, refill_s);
    run.accounting->iterations = iterations(tile);
  }
  const double loop_s = transitions_s(run);
  return run.rates.launch_s + spill_s + refill_s + loop_s + ends_s(run);
}

double ScratchpadModel::time_s(const TileConfig& tile) const {
  Run run = begin_run(0, nullptr);
  return run_s(tile, run);
}

void ScratchpadModel::times_s(std::span<const TileConfig> tiles, std::span<double> times) const {
  Run run = begin_run(0, nullptr);
  for (const std::uint64_t i : grouped_by_output(tiles)) times[i] = run_s(tiles[i], run);
}

Accounting ScratchpadModel::account(const TileConfig& tile, BoundMask removed) const {
  Accounting accounting;
  Run run = begin_run(removed, &accounting);
  accounting.total_s = run_s(tile, run);
  return accounting;
}

double ScratchpadModel::least_iteration_s() const {
  if (!compute_.has_matrix_work()) return rates_.overhead_s;
  LoopSizes smallest;
  smallest.fill(1);
  const double cycles = compute_.matrix_cycles(smallest) - compute_.matrix_fill_cycles();
  return rates_.overhead_s + cycles * cycle_s_;
}

double ScratchpadModel::least_s(const LoopSizes& extents) const {
  const double cycles = compute_.matrix_cycles(extents) - compute_.matrix_fill_cycles();
  const double iteration_s = rates_.overhead_s + cycles * cycle_s_;
  return rates_.launch_s + tile_count(space_, extents) * iteration_s;
}

double ScratchpadModel::scratchpad_bytes(const TileConfig& tile) const {
  Run run = begin_run(0, nullptr);
  move_to(tile, run);
  return run.shape.scratchpad_bytes;
}

std::string ScratchpadModel::infeasible_reason(const TileConfig& tile) const {
  const hwdesc::MemoryLevel& scratchpad = device_->scratchpad();
  const double bytes = scratchpad_bytes(tile);
  if (bytes <= window_bytes_) return {};
  constexpr double kMiB = 1024.0 * 1024.0;
  return fmt::format(
      "needs {:.2f} MiB of {} ({} stages of every cut operand), {:.2f} MiB available", bytes / kMiB,
      scratchpad.name, stages_, window_bytes_ / kMiB);
}

// Scratchpad space of array windows, and the cost of moving them from and to main memory.

namespace {

// Bytes per window of an in-place update: about the window size of streaming kernels on TPU v5p,
// estimated from the time their first and last windows add.
constexpr double kUpdateWindowBytes = 512.0 * 1024;

}  // namespace

ScratchpadModel::Run ScratchpadModel::begin_run(BoundMask removed, Accounting* accounting) const {
  Run run{.rates = rates_without(removed), .removed = removed, .accounting = accounting};
  run.shape.extents.fill(0);
  run.shape.trips.fill(1);
  run.groups = group_extents();
  for (const Stream& stream : streams_) {
    run.resident.push_back(stream.resident ? stream.once_bytes : 0);
  }
  run.costs.resize(streams_.size());
  return run;
}

// Moves `run` to the next tile, updating only what depends on loops whose extents changed.
void ScratchpadModel::move_to(const TileConfig& tile, Run& run) const {
  TileShape& shape = run.shape;
  const LoopSizes before = shape.extents;
  shape.extents = tile_extents(space_, tile);
  std::uint32_t changed = run.moved == Footprints::kEveryLoop ? Footprints::kEveryLoop : 0;
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    if (shape.extents[i] == before[i]) continue;
    const std::uint32_t bit = 1U << i;
    changed |= bit;
    shape.trips[i] = base::ceil_div(space_.loops[i].size, shape.extents[i]);
    shape.cut = shape.trips[i] > 1 ? shape.cut | bit : shape.cut & ~bit;
  }
  footprints_.evaluate(shape.extents, {run.groups.data(), run.groups.size()}, changed);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const Stream& stream = streams_[i];
    if (stream.resident || !depends(stream.loops, changed)) continue;
    run.resident[i] = resident_bytes(stream.array, run.groups[stream.group]);
  }
  if (depends(compute_.loops().anchor, changed)) {
    shape.accumulator_bytes = compute_.accumulator_bytes(run.regions());
  }
  run.moved |= changed;
  shape.scratchpad_bytes = footprint_bytes(run);
}

double ScratchpadModel::footprint_bytes(const Run& run) const {
  double bytes = 0;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const Stream& stream = streams_[i];
    const bool buffered = !stream.resident && (stream.loops & run.shape.cut) != 0;
    bytes += (buffered ? stages_ : 1) * run.resident[i];
  }
  if (splits_reduction(run.shape)) bytes += run.shape.accumulator_bytes;
  return bytes;
}

ScratchpadModel::UpdateCost ScratchpadModel::window_cost(const Stream& stream,
                                                         std::span<const Extents> groups,
                                                         double rate) const {
  const Extents& region = groups[stream.group];
  UpdateCost cost{analytical::window_cost(stream.array, region, rate, device_->engines.front())};
  if (stream.part_of_tiles) {
    cost.updates = std::ceil(resident_bytes(stream.array, region) / kUpdateWindowBytes);
  }
  return cost;
}

// Updates the costs of streams whose windows depend on one of the loops `changed`, or all of them.
void ScratchpadModel::update_costs(WindowCosts& costs, std::uint32_t changed,
                                   std::span<const Extents> groups, const Rates& rates) const {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const Stream& stream = streams_[i];
    if (!stream.in_main_memory || stream.resident || !depends(stream.loops, changed)) continue;
    costs[i] = window_cost(stream, groups, stream.written ? rates.memory.write : rates.memory.read);
  }
}

ScratchpadModel::Transfers ScratchpadModel::transfers(std::uint32_t changed,
                                                      const WindowCosts& costs) const {
  Transfers moved;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if ((streams_[i].transferred_by & changed) != 0) moved.add(streams_[i], costs[i]);
  }
  return moved;
}

}  // namespace tilecast::analytical

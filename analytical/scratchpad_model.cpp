#include "analytical/scratchpad_model.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "analytical/distinct_traffic.h"

namespace tilecast::analytical {
namespace {

// A result smaller than this share of the scratchpad stays there while outer loops revisit it.
constexpr double kAccumulatorShare = 1.0 / 8;
// Ragged loops costed exactly; further ones count as interior tiles.
constexpr int kMaxRagged = 3;

}  // namespace

ScratchpadModel::ScratchpadModel(const ir::Kernel& kernel, const hwdesc::Device& device)
    : TileModel(kernel, device), compute_(kernel, device, space_, footprints_) {
  const hwdesc::TransferEngine& engine = device.engines.front();
  rates_ = {.memory = memory_path(device.main_memory()),
            .setup_s = engine.setup.value,
            .overhead_s = engine.iteration_overhead.value,
            .launch_s = device.dispatch.kernel_launch.value,
            .transfer_bytes = engine.full_efficiency_transfer.value};
  stages_ = engine.stages;
  descriptor_s_ = engine.descriptor.value;
  add_streams(kernel);
  makes_operands_ = space_.matrix.has_value();
  if (!makes_operands_) return;
  GroupExtents storage = group_extents();
  const std::span<Extents> groups(storage.data(), storage.size());
  footprints_.evaluate(tile_extents(space_, full_tile(space_)), groups);
  makes_operands_ = compute_.overlapped(operands_made(Footprints::kEveryLoop, groups, 0)) > 0;
}

void ScratchpadModel::add_streams(const ir::Kernel& kernel) {
  const hwdesc::MemoryLevel& memory = device_->main_memory();
  const auto in_main_memory = [&](const MemoryStream& stream) {
    return !is_resident(kernel.op(stream.op).shape, *device_);
  };
  const hwdesc::TransferEngine& engine = device_->engines.front();
  const auto add = [&](std::vector<Stream>& streams, const MemoryStream& stream, bool resident) {
    streams.push_back({stream, in_main_memory(stream), resident});
    streams.back().array.run_cost_bytes = engine.full_efficiency_run.value;
    streams.back().array.descriptor_strides = engine.descriptor_strides;
  };
  for (const MemoryStream& input : input_streams(kernel, footprints_, memory.granule.value)) {
    add(inputs_, input, /*resident=*/false);
  }
  const double small = kAccumulatorShare * device_->scratchpad().capacity.value;
  for (const MemoryStream& output : output_streams(kernel, footprints_, memory.granule.value)) {
    add(outputs_, output, revisited(output.loops) && whole_bytes(output.array) <= small);
  }
}

// Does an outer loop come back to the same tile of a result after inner loops moved away from it?
bool ScratchpadModel::revisited(std::uint32_t loops) const {
  bool outside = false;
  for (const int loop : space_.order) {
    const bool moves_tile = (loops >> loop & 1U) != 0;
    if (moves_tile && outside) return true;
    outside = outside || (!moves_tile && !space_.loops[loop].reduction);
  }
  return false;
}

ScratchpadModel::Shape ScratchpadModel::prepare(const TileConfig& tile,
                                                std::span<Extents> groups) const {
  Shape shape;
  shape.extents = tile_extents(space_, tile);
  shape.trips.fill(1);
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    shape.trips[i] = base::ceil_div(space_.loops[i].size, shape.extents[i]);
  }
  footprints_.evaluate(shape.extents, groups);
  shape.scratchpad_bytes = footprint_bytes(shape, groups);
  return shape;
}

bool ScratchpadModel::splits_reduction(const Shape& shape) const {
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    if (space_.loops[i].reduction && shape.trips[i] > 1) return true;
  }
  return false;
}

double ScratchpadModel::footprint_bytes(const Shape& shape, std::span<const Extents> groups) const {
  double bytes = 0;
  std::uint32_t cut = 0;
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    if (shape.trips[i] > 1) cut |= 1U << i;
  }
  const auto add = [&](const Stream& stream) {
    const double buffers = (stream.loops & cut) != 0 ? stages_ : 1;
    bytes += stream.resident ? whole_bytes(stream.array)
                             : buffers * resident_bytes(stream.array, groups[stream.group]);
  };
  for (const Stream& stream : inputs_) add(stream);
  for (const Stream& stream : outputs_) add(stream);
  if (splits_reduction(shape)) bytes += compute_.accumulator_bytes(groups);
  return bytes;
}

ScratchpadModel::Rates ScratchpadModel::rates_without(BoundMask removed) const {
  return {.memory = rates_.memory.without(removed, Bound::kHbmRead, Bound::kHbmWrite),
          .setup_s = kept_s(removed, Bound::kIssue, rates_.setup_s),
          .overhead_s = kept_s(removed, Bound::kOverhead, rates_.overhead_s),
          .launch_s = kept_s(removed, Bound::kOverhead, rates_.launch_s),
          .transfer_bytes = rates_.transfer_bytes};
}

double ScratchpadModel::chain_excess_s(double busy_s, BoundMask removed) const {
  return kept_s(removed, Bound::kLatency,
                std::max(compute_.chain_cycles() * cycle_s_ - busy_s, 0.0));
}

ScratchpadModel::ComputeTime ScratchpadModel::compute_time(const Shape& shape,
                                                           std::span<const Extents> groups,
                                                           BoundMask removed) const {
  ComputeTime time;
  UnitCycles after = compute_.epilogue(groups);
  if (!space_.matrix) {
    time.iteration = after.without(removed);
    time.iteration_s = compute_.overlapped(time.iteration) * cycle_s_;
    time.chain_s = chain_excess_s(time.iteration_s, removed);
    time.iteration_s += time.chain_s;
    return time;
  }
  UnitCycles& product = time.iteration;
  product.matrix = compute_.matrix_cycles(shape.extents);
  product.on_chip = compute_.prologue(groups).on_chip;  // operands on their way to the products
  if (!compute_.has_matrix_work()) product.vector = compute_.vector_matrix_cycles(shape.extents);
  if (splits_reduction(shape)) {  // the next iteration adds to this one's result
    const UnitCycles partial = compute_.accumulate(groups);
    product.vector += partial.vector;
    product.on_chip += partial.on_chip;
  } else {
    const double fill = compute_.matrix_fill_cycles();
    product.matrix -= fill;
    time.fill_s = kept_s(removed, Bound::kMatrix, fill * cycle_s_);
  }
  product = product.without(removed);
  time.iteration_s = compute_.overlapped(product) * cycle_s_;
  time.finish = after.without(removed);
  time.finish_s = compute_.overlapped(time.finish) * cycle_s_;
  time.chain_s = chain_excess_s(time.finish_s, removed);
  time.finish_s += time.chain_s;
  return time;
}

// The core issues the transfers and runs the loop besides computing; the engine moves bytes.
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

// Operands that vector units make for the products: where a loop that moves them advances.
UnitCycles ScratchpadModel::operands_made(std::uint32_t changed, std::span<const Extents> groups,
                                          BoundMask removed) const {
  if (!makes_operands_) return {};
  boost::container::small_vector<double, 48> times(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    times[g] =
        changed == Footprints::kEveryLoop || (footprints_.groups()[g].loops & changed) != 0 ? 1 : 0;
  }
  UnitCycles made = compute_.prologue(groups, {times.data(), times.size()}).without(removed);
  made.on_chip = 0;
  return made;
}

// Of one iteration.
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
                                std::span<const Extents> groups, const WindowCosts& costs) const {
  const Transfers moved = transfers(changed, costs);
  const UnitCycles made = operands_made(changed, groups, run.removed);
  const double use_s = compute_.overlapped(made) * cycle_s_ + run.compute.iteration_s +
                       (finishes ? run.compute.finish_s : 0);
  const PipelineLoop period = loop_of(moved, use_s, run.rates);
  if (run.accounting != nullptr) {
    run.accounting->add_periods(period, busy_of(run, moved, made, finishes), count, kMemoryPaths);
    run.accounting->read_bytes += count * moved.read.bytes;
    run.accounting->write_bytes += count * moved.write.bytes;
  }
  return count * steady_period_s(period);
}

double ScratchpadModel::transitions_s(const Run& run, std::span<const Extents> groups,
                                      const WindowCosts& interior) const {
  const Shape& shape = run.shape;
  int ragged[kMaxRagged];
  int ragged_count = 0;
  std::uint32_t ragged_loops = 0;
  for (const int loop : space_.order) {
    const bool is_ragged =
        shape.trips[loop] > 1 && shape.trips[loop] * shape.extents[loop] != space_.loops[loop].size;
    if (!is_ragged || ragged_count == kMaxRagged) continue;
    ragged[ragged_count++] = loop;
    ragged_loops |= 1U << loop;
  }
  GroupExtents edge_storage = group_extents();
  double total = 0;
  for (int combination = 0; combination < 1 << ragged_count; ++combination) {
    LoopSizes extents = shape.extents;
    std::uint32_t edges = 0;  // loops at their last, smaller tile
    for (int i = 0; i < ragged_count; ++i) {
      if ((combination >> i & 1) == 0) continue;
      edges |= 1U << ragged[i];
      const int loop = ragged[i];
      extents[loop] = space_.loops[loop].size - (shape.trips[loop] - 1) * shape.extents[loop];
    }
    WindowCosts at_edges;
    if (combination != 0) {
      const std::span<Extents> edge(edge_storage.data(), edge_storage.size());
      std::ranges::copy(groups, edge.begin());
      footprints_.evaluate(extents, edge, edges);
      at_edges = interior;
      update_costs(at_edges, edges, edge, run.rates);
    }
    const WindowCosts& costs = combination == 0 ? interior : at_edges;
    double outer = 1;  // positions of the outer loops that are at their edge as `edges` says
    for (std::size_t position = 0; position < space_.order.size(); ++position) {
      const int loop = space_.order[position];
      const double trips = static_cast<double>(shape.trips[loop]);
      const double revisits = static_cast<double>(space_.loops[loop].revisits);
      if (trips <= 1 && revisits == 0) continue;
      const bool at_edge = (edges >> loop & 1U) != 0;
      const double positions = at_edge ? 1 : trips - static_cast<double>(ragged_loops >> loop & 1U);
      const double arrivals = at_edge ? 1 : positions - 1;
      const double weight = outer * arrivals;
      const double next_groups = at_edge ? 0 : outer * revisits;
      outer *= positions + (at_edge ? 0 : revisits);
      edges &= ~(1U << loop);
      if (edges != 0) continue;  // inner loops restart with a whole tile
      std::uint32_t changed = 0;
      for (std::size_t p = position; p < space_.order.size(); ++p) {
        if (shape.trips[space_.order[p]] > 1) changed |= 1U << space_.order[p];
      }
      const bool finishes = !space_.loops[loop].reduction;
      if (weight > 0) total += steps_s(run, changed, finishes, weight, groups, costs);
      if (next_groups == 0) continue;
      const std::uint32_t of_group = 1U << space_.matrix->group_loop;
      changed = (changed & ~(1U << loop)) | of_group;
      total += steps_s(run, changed, finishes, next_groups, groups, costs);
    }
  }
  return total;
}

double ScratchpadModel::ends_s(const Run& run, std::span<const Extents> groups,
                               const WindowCosts& costs) const {
  const MemoryPath& memory = run.rates.memory;
  const BoundMask removed = run.removed;
  Transfers first;
  auto cost = costs.begin();
  for (const Stream& stream : inputs_) {
    if (stream.in_main_memory) first.read.add(*cost);
    ++cost;
  }
  for (const Stream& stream : outputs_) {
    const WindowCost& window = *cost++;
    if (!stream.in_main_memory) continue;
    if (!stream.resident) {
      first.write.add(window);
      first.updates += window.updates;
      continue;
    }
    const double bytes = whole_bytes(stream.array);
    first.write.add({.bytes = bytes, .engine_s = bytes / memory.write});
  }
  const auto end_s = [&](const Transfers::Direction& direction) {
    return direction.count > 0 ? memory.latency_s + direction.engine_s : 0;
  };
  const double more_updates = std::max(first.updates - 1, 0.0) * run.rates.update_wait_s();
  const double ends =
      kept_s(removed, Bound::kFillDrain, end_s(first.read) + end_s(first.write) + more_updates);
  // The first loads and the last stores are issued too, by a core that has nothing else to do.
  const double issue = run.rates.setup_s * first.count();
  const UnitCycles made = operands_made(Footprints::kEveryLoop, groups, removed);
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

double ScratchpadModel::run_s(const TileConfig& tile, BoundMask removed,
                              Accounting* accounting) const {
  GroupExtents storage = group_extents();
  const std::span<Extents> groups(storage.data(), storage.size());
  Run run{.shape = prepare(tile, groups),
          .rates = rates_without(removed),
          .removed = removed,
          .accounting = accounting};
  const double excess = run.shape.scratchpad_bytes - device_->scratchpad().capacity.value;
  if (excess > 0 && accounting == nullptr) return std::numeric_limits<double>::infinity();
  const MemoryPath& memory = run.rates.memory;
  const double spill_s = excess > 0 ? excess / memory.write : 0;
  const double refill_s = excess > 0 ? excess / memory.read : 0;
  run.compute = compute_time(run.shape, groups, removed);
  if (accounting != nullptr) {
    accounting->add_alone(Bound::kOverhead, run.rates.launch_s);
    accounting->add_alone(Bound::kHbmWrite, spill_s);
    accounting->add_alone(Bound::kHbmRead, refill_s);
    accounting->iterations = iterations(tile);
  }
  const WindowCosts costs = window_costs(groups, run.rates);
  const double loop_s = transitions_s(run, groups, costs);
  return run.rates.launch_s + spill_s + refill_s + loop_s + ends_s(run, groups, costs);
}

double ScratchpadModel::time_s(const TileConfig& tile) const {
  return run_s(tile, 0, nullptr);
}

Accounting ScratchpadModel::account(const TileConfig& tile, BoundMask removed) const {
  Accounting accounting;
  accounting.total_s = run_s(tile, removed, &accounting);
  return accounting;
}

double ScratchpadModel::least_iteration_s() const {
  if (!compute_.has_matrix_work()) return rates_.overhead_s;
  LoopSizes smallest;
  smallest.fill(1);
  const double cycles = compute_.matrix_cycles(smallest) - compute_.matrix_fill_cycles();
  return rates_.overhead_s + cycles * cycle_s_;
}

double ScratchpadModel::scratchpad_bytes(const TileConfig& tile) const {
  GroupExtents storage = group_extents();
  return prepare(tile, {storage.data(), storage.size()}).scratchpad_bytes;
}

std::string ScratchpadModel::infeasible_reason(const TileConfig& tile) const {
  const hwdesc::MemoryLevel& scratchpad = device_->scratchpad();
  const double bytes = scratchpad_bytes(tile);
  if (bytes <= scratchpad.capacity.value) return {};
  constexpr double kMiB = 1024.0 * 1024.0;
  return fmt::format(
      "needs {:.2f} MiB of {} ({} stages of every cut operand), {:.2f} MiB available", bytes / kMiB,
      scratchpad.name, stages_, scratchpad.capacity.value / kMiB);
}

}  // namespace tilecast::analytical

// Scratchpad space of array windows, and the cost of moving them from and to main memory.
#include <cmath>

#include "analytical/scratchpad_model.h"

namespace tilecast::analytical {
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
  run.resident.resize(inputs_.size());
  for (const Stream& stream : outputs_) {
    run.resident.push_back(stream.resident ? stream.once_bytes : 0);
  }
  run.costs.resize(inputs_.size() + outputs_.size());
  return run;
}

// Moves `run` to the next tile, updating only what depends on loops whose extents changed.
void ScratchpadModel::move_to(const TileConfig& tile, Run& run) const {
  scratchpad::TileShape& shape = run.shape;
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
  auto resident = run.resident.begin();
  const auto update = [&](const Stream& stream) {
    if (!stream.resident && depends(stream.loops, changed)) {
      *resident = resident_bytes(stream.array, run.groups[stream.group]);
    }
    ++resident;
  };
  for (const Stream& stream : inputs_) update(stream);
  for (const Stream& stream : outputs_) update(stream);
  if (depends(compute_.loops().anchor, changed)) {
    shape.accumulator_bytes = compute_.accumulator_bytes(run.regions());
  }
  run.moved |= changed;
  shape.scratchpad_bytes = footprint_bytes(run);
}

double ScratchpadModel::footprint_bytes(const Run& run) const {
  double bytes = 0;
  auto resident = run.resident.begin();
  const auto add = [&](const Stream& stream) {
    const double buffers = !stream.resident && (stream.loops & run.shape.cut) != 0 ? stages_ : 1;
    bytes += buffers * *resident++;
  };
  for (const Stream& stream : inputs_) add(stream);
  for (const Stream& stream : outputs_) add(stream);
  if (splits_reduction(run.shape)) bytes += run.shape.accumulator_bytes;
  return bytes;
}

ScratchpadModel::WindowCost ScratchpadModel::window_cost(const Stream& stream,
                                                         std::span<const Extents> groups,
                                                         double rate) const {
  const Extents& region = groups[stream.group];
  WindowCost cost{.bytes = region_bytes(stream.array, region)};
  const double listed = std::isinf(rate) ? 0 : descriptors(stream.array, region) - 1;
  const double moved = cost.bytes / run_efficiency(stream.array, region) + rates_.transfer_bytes;
  cost.engine_s = std::max(moved / rate, listed * descriptor_s_);
  if (stream.part_of_tiles) {
    cost.updates = std::ceil(resident_bytes(stream.array, region) / kUpdateWindowBytes);
  }
  return cost;
}

// Updates the costs of streams whose windows depend on one of the loops `changed`, or all of them.
void ScratchpadModel::update_costs(WindowCosts& costs, std::uint32_t changed,
                                   std::span<const Extents> groups, const Rates& rates) const {
  auto cost = costs.begin();
  for (const Stream& stream : inputs_) {
    if (stream.in_main_memory && depends(stream.loops, changed)) {
      *cost = window_cost(stream, groups, rates.memory.read);
    }
    ++cost;
  }
  for (const Stream& stream : outputs_) {
    if (stream.in_main_memory && !stream.resident && depends(stream.loops, changed)) {
      *cost = window_cost(stream, groups, rates.memory.write);
    }
    ++cost;
  }
}

ScratchpadModel::Transfers ScratchpadModel::transfers(std::uint32_t changed,
                                                      const WindowCosts& costs) const {
  Transfers moved;
  auto cost = costs.begin();
  for (const Stream& stream : inputs_) {
    if ((stream.transferred_by & changed) != 0) moved.read.add(*cost);
    ++cost;
  }
  for (const Stream& stream : outputs_) {
    if ((stream.transferred_by & changed) != 0) {
      moved.write.add(*cost);
      moved.updates += cost->updates;
    }
    ++cost;
  }
  return moved;
}

}  // namespace tilecast::analytical

// What windows of arrays cost to move between main memory and the scratchpad.
#include <cmath>

#include "analytical/scratchpad_model.h"

namespace tilecast::analytical {
namespace {

// Bytes of a window of an update in place: windows of streaming kernels on TPU v5p are about as
// large, judged by what the first and the last of them add.
constexpr double kUpdateWindowBytes = 512.0 * 1024;

}  // namespace

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

// Of the streams whose windows depend on one of the loops `changed`; of every one for all loops.
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

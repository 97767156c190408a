// Translates a device's storage rules into those of ir/, which does not know devices.
#pragma once

#include <algorithm>

#include "hwdesc/device.h"
#include "ir/layout_assignment.h"

namespace tilecast::analytical {

[[nodiscard]] inline ir::LayoutRules layout_rules(const hwdesc::Device& device) {
  const auto& tile = device.native_tile;
  ir::LayoutRules rules{.sublanes = tile.sublanes,
                        .lanes = tile.lanes,
                        .word_bits = tile.word_bits,
                        .tiled = tile.tiled};
  if (device.execution == hwdesc::Execution::kSimt) rules.fusion.compiler = ir::Compiler::kXlaGpu;
  if (device.execution == hwdesc::Execution::kScratchpad) {
    const hwdesc::MemoryLevel& level = device.scratchpad();
    const double bytes = std::min(level.results.value, level.capacity.value);
    rules.scratchpad = {level.memory_space, static_cast<std::int64_t>(bytes)};
  }
  return rules;
}

}  // namespace tilecast::analytical

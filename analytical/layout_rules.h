// Translates a device's storage rules into those of ir/, which does not know devices.
#pragma once

#include <algorithm>

#include "hwdesc/device.h"
#include "ir/layout_assignment.h"

namespace tilecast::analytical {

[[nodiscard]] inline ir::Compiler compiler(const hwdesc::Device& device) {
  switch (device.fusion) {
    case hwdesc::Fusion::kXlaTpu:
      return ir::Compiler::kXlaTpu;
    case hwdesc::Fusion::kXlaGpu:
      return ir::Compiler::kXlaGpu;
    case hwdesc::Fusion::kXlaCpu:
      return ir::Compiler::kXlaCpu;
    case hwdesc::Fusion::kNone:
      return ir::Compiler::kNone;
    case hwdesc::Fusion::kByExecution:
      break;
  }
  return device.execution == hwdesc::Execution::kSimt ? ir::Compiler::kXlaGpu
                                                      : ir::Compiler::kXlaTpu;
}

[[nodiscard]] inline ir::LayoutRules layout_rules(const hwdesc::Device& device) {
  const auto& tile = device.native_tile;
  ir::LayoutRules rules{.sublanes = tile.sublanes,
                        .lanes = tile.lanes,
                        .word_bits = tile.word_bits,
                        .tiled = tile.tiled};
  rules.fusion.compiler = compiler(device);
  if (device.attention == hwdesc::AttentionBy::kLibrary) {
    rules.fusion.attention = ir::AttentionCalls::kAll;
  } else if (device.attention == hwdesc::AttentionBy::kAlone &&
             rules.fusion.compiler == ir::Compiler::kXlaGpu) {
    rules.fusion.attention = ir::AttentionCalls::kAlone;
  }
  if (device.execution == hwdesc::Execution::kScratchpad) {
    rules.fusion.windows = rules.fusion.compiler == ir::Compiler::kXlaTpu;
    // XLA's dumps: so on v6e and v7x, which have such arrays, and not on v4, v5e and v5p.
    constexpr std::int64_t kWide = 256;
    rules.fusion.depthwise_first = device.matrix.rows >= kWide;
    const hwdesc::MemoryLevel& level = device.scratchpad();
    const double bytes = std::min(level.results.value, level.capacity.value);
    rules.scratchpad = {level.memory_space, static_cast<std::int64_t>(bytes),
                        static_cast<std::int64_t>(level.windows.value)};
  }
  if (rules.fusion.compiler == ir::Compiler::kXlaCpu) {
    const std::size_t count = std::min(device.memory.size() - 1, rules.caches.size());
    for (std::size_t i = 0; i < count; ++i) rules.caches[i] = device.memory[i + 1].capacity.value;
  }
  return rules;
}

}  // namespace tilecast::analytical

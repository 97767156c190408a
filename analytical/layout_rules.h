// How a described device stores arrays, in the terms of ir/ (which knows no machine).
#pragma once

#include "hwdesc/device.h"
#include "ir/layout_assignment.h"

namespace tilecast::analytical {

[[nodiscard]] inline ir::LayoutRules layout_rules(const hwdesc::Device& device) {
  const auto& tile = device.native_tile;
  return {.sublanes = tile.sublanes,
          .lanes = tile.lanes,
          .word_bits = tile.word_bits,
          .tiled = tile.tiled};
}

}  // namespace tilecast::analytical

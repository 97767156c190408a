// Device layouts for dumps that carry none: gives every array the tiling of the device's native
// tile and a dimension order that wastes little padding (specs/hlo.md 2.3.4).
#pragma once

#include "ir/hlo.h"

namespace tilecast::ir {

// How the device stores arrays. Defaults: TPU T(8,128) with sub-32-bit rows packed into words.
struct LayoutRules {
  std::int64_t sublanes = 8, lanes = 128;
  int word_bits = 32;
  bool tiled = true;              // false: plain row-major (GPUs, CPUs)
  std::int64_t max_rank1_tile = 1024;
};

[[nodiscard]] bool has_device_layouts(const Module& module);  // any tiled layout
[[nodiscard]] Module assign_layouts(const Module& module, const LayoutRules& rules);
// The layout one array gets on its own: dimension order that pads least (ties: as given).
[[nodiscard]] Layout device_layout(const Shape& shape, const LayoutRules& rules);

}  // namespace tilecast::ir

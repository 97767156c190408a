// Kernels of a 2-d convolution (NHWC x HWIO -> NHWC) and of its two gradients, from a table row.
// Extents: forward out = floor((size + low + high - k) / stride) + 1 (XLA's window rule).
#pragma once

#include "ir/kernel_sketch.h"
#include "learned/op_row.h"

namespace tilecast::learned {

[[nodiscard]] ir::Kernel conv2d(const OpRow& row, const ir::LayoutRules& layout);
[[nodiscard]] ir::Kernel conv2d_grad_input(const OpRow& row, const ir::LayoutRules& layout);
[[nodiscard]] ir::Kernel conv2d_grad_weight(const OpRow& row, const ir::LayoutRules& layout);

}  // namespace tilecast::learned

// Builds the kernels of a 2-d convolution (NHWC x HWIO -> NHWC) and of its two gradients from a
// table row. Output size of the forward convolution: floor((size + low + high - k) / stride) + 1
// (XLA's window rule).
#pragma once

#include "ir/kernels/kernel_sketch.h"
#include "measured/op_row.h"

namespace tilecast::measured {

[[nodiscard]] ir::Kernel conv2d(const OpRow& row, const ir::LayoutRules& layout);
[[nodiscard]] ir::Kernel conv2d_grad_input(const OpRow& row, const ir::LayoutRules& layout);
[[nodiscard]] ir::Kernel conv2d_grad_weight(const OpRow& row, const ir::LayoutRules& layout);

}  // namespace tilecast::measured

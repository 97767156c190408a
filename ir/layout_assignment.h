// Assigns device layouts to dumps that carry none: every array gets the tiling of the device's
// native tile and a dimension order that wastes little padding.
//
//   f32[16,4]      -> {0,1:T(4,128)}            4 x 128 elements instead of 16 x 128
//   bf16[512,768]  -> {1,0:T(8,128)(2,1)}       two rows share a 32-bit word
//   f32[300]       -> {0:T(512)}
//
// The rule is ours, modelled on the layouts seen in TPU dumps (XLA's layout assignment for TPU is
// not public). It mostly considers one array at a time; convolutions choose layouts for their
// operands. Thread-safe.
#pragma once

#include <array>

#include "ir/fusion/fusion.h"
#include "ir/hlo.h"
#include "ir/memory_assignment.h"

namespace tilecast::ir {

// How the device stores arrays. Defaults: TPU T(8,128) with sub-32-bit rows packed into words.
struct LayoutRules {
  friend bool operator==(const LayoutRules&, const LayoutRules&) = default;
  std::int64_t sublanes = 8, lanes = 128;
  int word_bits = 32;
  bool tiled = true;  // false: plain row-major (GPUs, CPUs)
  std::int64_t max_rank1_tile = 1024;
  FusionOptions fusion;        // rules of the device's compiler for programs that are not fused yet
  ScratchpadRules scratchpad;  // which results stay on chip between kernels
  std::array<double, 4>
      caches{};  // bytes of caches that keep what kernels touch, the largest first
};

// True if most computed arrays carry a tiled layout (dumps taken before layout assignment may have
// tiled parameters only).
[[nodiscard]] bool has_device_layouts(const Module& module);
// Tiled rules: arrays without a tiling get one, others keep theirs. Untiled rules: tilings are
// dropped and the dimension order is kept. Throws Error if a number in the rules is not positive.
[[nodiscard]] Module assign_layouts(Module module, const LayoutRules& rules);
// Packs sub-byte elements, as XLA does on every machine (SubByteNormalization): sets E(bits) where
// the module does not specify it.
void pack_narrow_types(Module& module);
// The layout of a single array: keeps the given dimension order unless another saves at least a
// quarter of the padded size; then the order that pads least.
[[nodiscard]] Layout device_layout(const Shape& shape, const LayoutRules& rules);
// The preferred layouts of a convolution of rank 3 or more: output, input, kernel. Features and
// batch are the two minor dimensions; a spatial dimension replaces a batch of one.
[[nodiscard]] std::array<Layout, 3> convolution_layouts(const ConvDims& dims, const Shape& input,
                                                        const Shape& kernel, const Shape& output,
                                                        const LayoutRules& rules);

}  // namespace tilecast::ir

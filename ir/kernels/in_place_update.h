// In-place updates in a kernel: outputs that are parameters of which only some elements change (a
// row of a KV cache, the stacked output of a scan, the embedding rows that received a gradient).
// Time, traffic, energy and memory use the same rule: at least the update is written.
//
// A dynamic-update-slice or scatter counts if its target is a parameter of the kernel, possibly
// through bitcasts, reshapes and other such updates. A target that the kernel itself computes is
// written whole.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace tilecast::ir {

struct InPlaceUpdate {
  OpId op;              // dynamic-update-slice or scatter
  OpId target, update;  // operands of `op`
  bool reads = false;   // whether the replaced elements are read: a scatter combines old and new
};

// The updates that produce the value `id`, last one first; empty if it is written whole.
[[nodiscard]] std::vector<InPlaceUpdate> in_place_updates(const Kernel& kernel, OpId id);

// The value that the kernel computes for an output: the output itself, or the operand `update` of
// its largest in-place update.
[[nodiscard]] OpId made_of(const Kernel& kernel, OpId output);

}  // namespace tilecast::ir

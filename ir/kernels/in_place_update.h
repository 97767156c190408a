// What a kernel writes in place: an output that is a parameter of which only some elements change
// (a row of a KV cache, the stacked output of a scan, the rows of an embedding that got a
// gradient). One rule for time, traffic, energy and memory: the least that is written is the
// update.
//
// A dynamic-update-slice or scatter counts whose target is, through bitcasts, reshapes and further
// such updates, a parameter of the kernel; a target that the kernel makes itself is written whole.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace tilecast::ir {

struct InPlaceUpdate {
  OpId op;              // dynamic-update-slice or scatter
  OpId target, update;  // operands of it
  bool reads = false;   // what it replaces: a scatter combines old and new
};

// Of the value `id`, the last update first; empty where it is made whole.
[[nodiscard]] std::vector<InPlaceUpdate> in_place_updates(const Kernel& kernel, OpId id);

// What the kernel makes of one of its outputs: all of it, or the largest update in place of it.
[[nodiscard]] OpId made_of(const Kernel& kernel, OpId output);

}  // namespace tilecast::ir

// How often a kernel made of rows goes over them when a thread block cannot hold one.
//
// A layer norm needs the mean of a row before the variance, and both before the result: two
// reductions that wait for each other, then a third pass. A block that holds the row in registers
// reads it once. One that does not reads it again in each pass, and computes again what the pass
// needs. GPU libraries hold rows of up to 1024 elements, 32 per thread of a warp (PyTorch's
// persistent softmax, the persistent reductions of its Inductor). A maximum that only shifts the
// argument of exponentials waits for nothing: it is corrected while they are summed (online
// softmax, Milakov and Gimelshein, arXiv:1805.02867), so a softmax takes two passes.
#pragma once

#include "analytical/footprint.h"

namespace tilecast::analytical {

inline constexpr double kHeldRowElements = 1024;

struct Passes {
  int count = 1;                    // 1: no reduction whose result meets the rows again
  std::vector<int> times;           // by op: passes that compute (parameters: read) it
  double row_elements = 1;          // that one result of a reduction takes
  std::uint32_t reduced_loops = 0;  // bit per loop along a row
};

// Reductions that wait for each other count one pass each, and so does the result.
[[nodiscard]] Passes passes_of(const ir::Kernel& kernel, const Footprints& footprints);

// Share of a second reading that misses a cache of `capacity` bytes when `in_flight` bytes are
// touched in between on average. Distances spread a third around that mean, and what was touched
// longest ago goes first: all of it stays up to 3/4 of the capacity, nothing beyond 3/2.
[[nodiscard]] double repeated_miss_share(double capacity, double in_flight);

}  // namespace tilecast::analytical

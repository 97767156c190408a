// Number of passes of a kernel over its rows when a thread block cannot hold a row.
//
// A layer norm needs the mean of a row before the variance, and both before the result: two
// dependent reductions, then a third pass. A block that holds the row in registers reads it once.
// Otherwise it reads it again in each pass and recomputes the values the pass needs. GPU libraries
// hold rows of up to 1024 elements, 32 per thread of a warp (PyTorch's persistent softmax, the
// persistent reductions of its Inductor). A maximum that only shifts the argument of exponentials
// takes no pass of its own: it is corrected while they are summed (online softmax, Milakov and
// Gimelshein, arXiv:1805.02867), so a softmax takes two passes.
#pragma once

#include "analytical/footprint.h"

namespace tilecast::analytical {

inline constexpr double kHeldRowElements = 1024;

struct Passes {
  int count = 1;                    // 1: no reduction result is used on the rows again
  std::vector<int> times;           // per op: passes that compute it (parameters: read it)
  double row_elements = 1;          // elements reduced into one result
  std::uint32_t reduced_loops = 0;  // bit per loop along a row
};

// Dependent reductions count one pass each, and so does the result.
[[nodiscard]] Passes passes_of(const ir::Kernel& kernel, const Footprints& footprints);

// Share of a repeated read that misses a cache of `capacity` bytes if `in_flight` bytes are touched
// in between on average. Reuse distances spread by a third around that mean, and eviction is oldest
// first: everything stays up to 3/4 of the capacity, nothing beyond 3/2.
[[nodiscard]] double repeated_miss_share(double capacity, double in_flight);

}  // namespace tilecast::analytical

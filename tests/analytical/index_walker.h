// Finds the elements of every op of a kernel that one tile needs, by enumerating indices: the slow,
// obvious reference for footprints. For ops with affine index maps on tiny shapes.
#pragma once

#include <set>
#include <vector>

#include "analytical/iteration_space.h"
#include "ir/kernel.h"

namespace tilecast::analytical::testing {

using Index = std::vector<std::int64_t>;
using IndexSet = std::set<Index>;

// Positions [begin, begin + size) of one loop.
struct Range {
  std::int64_t begin = 0, size = 1;
};

// Needed indices by op, for the tile that covers `loops` (by loop of the space).
[[nodiscard]] std::vector<IndexSet> needed_indices(const ir::Kernel& kernel,
                                                   const IterationSpace& space,
                                                   const std::vector<Range>& loops);

// Largest minus smallest index plus one, by dimension; zeros if empty.
[[nodiscard]] Index bounding_extents(const IndexSet& indices, int rank);

}  // namespace tilecast::analytical::testing

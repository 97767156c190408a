// Which tiles are worth trying for a kernel.
//
// A candidate cuts loop i into trips[i] pieces, trips from a fixed ladder (1, 2, 4, 8 ..., one unit
// each). Loops are cut from the outermost inwards (the inner ones stay whole until the outer ones
// are cut to single units), columns and reductions of a matrix product each on their own ladder.
// The set depends only on the loops, never on rates or capacities, so the best of it can only
// improve when a machine does (tests/analytical/monotonicity_test.cpp).
#pragma once

#include <vector>

#include "analytical/iteration_space.h"

namespace tilecast::analytical {

// At most `limit` distinct tiles, fewest pieces first; deterministic.
[[nodiscard]] std::vector<TileConfig> candidate_tiles(const IterationSpace& space,
                                                      std::size_t limit);

}  // namespace tilecast::analytical

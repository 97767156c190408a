// Which tiles are worth trying for a kernel. The sets depend only on the loops, never on rates or
// capacities, so the best of one can only improve when a machine does
// (tests/analytical/monotonicity_test.cpp).
#pragma once

#include <functional>
#include <vector>

#include "analytical/iteration_space.h"

namespace tilecast::analytical {

// A candidate cuts loop i into trips[i] pieces, trips from a fixed ladder (1, 2, 4, 8 ..., one unit
// each). Loops are cut from the outermost, or from one inside it, inwards (the inner ones stay
// whole until those are cut to single units), columns and reductions of a matrix product each on
// their own ladder. At most `limit` distinct tiles, fewest pieces first; deterministic.
[[nodiscard]] std::vector<TileConfig> candidate_tiles(const IterationSpace& space,
                                                      std::size_t limit);

// Every way to cut the loops that the ladder cuts into pieces of equal extent (the last may be
// shorter): each loop into every number of pieces that makes another extent, in all combinations.
// At most `limit` tiles that fit, of the first kMostLookedAt; fewest pieces first, ties in the
// order of the loops; deterministic.
inline constexpr std::size_t kMostLookedAt = 1'000'000;
[[nodiscard]] std::vector<TileConfig> all_tiles(
    const IterationSpace& space, std::size_t limit,
    const std::function<bool(const TileConfig&)>& fits = [](const TileConfig&) { return true; });
// How many there are, fitting or not.
[[nodiscard]] double count_all_tiles(const IterationSpace& space);

inline constexpr double kLargestSide = 256;  // of a library's blocks

// Rows or columns of the blocks that a library has for a product.
struct BlockSide {
  double least = 1, most = kLargestSide;
};
struct BlockSides {
  BlockSide rows, columns;
  double most_results = kLargestSide * kLargestSide;
};

// For machines that run thread blocks. Matrix kernels: powers of two from 16 to 256 rows and
// columns within `sides`, steps of 32 to 128 along the contraction (the range of CUTLASS and cuBLAS
// kernels). Others: any one loop cut on its own ladder, the rest from the outermost inwards. At
// most `limit` distinct tiles, fewest blocks first; deterministic.
[[nodiscard]] std::vector<TileConfig> simt_candidate_tiles(const IterationSpace& space,
                                                           std::size_t limit,
                                                           const BlockSides& sides);
// Those blocks of a product of 16 to 256 rows and columns, each under 1 to 4 buffers of 2 to 16
// warps, as Triton and CUTLASS offer them. At most `limit`.
[[nodiscard]] std::vector<TileConfig> scheduled_tiles(const IterationSpace& space,
                                                      std::size_t limit);

// The tile a dump states: its windows, and for a list it leaves out the trips of the compiler's
// loop nest (iteration_bounds: one per loop of the space, in its order). Nothing when it states
// neither.
[[nodiscard]] std::optional<TileConfig> stated_tile(const IterationSpace& space,
                                                    const ir::CompilerTile& compiled);

}  // namespace tilecast::analytical

// Candidate tiles for a kernel. The sets depend only on the loops, never on rates or capacities, so
// the best of a set only gets faster when a machine does (tests/analytical/monotonicity_test.cpp).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "analytical/iteration_space.h"

namespace tilecast::analytical {

// A candidate cuts loop i into trips[i] pieces, from a fixed ladder (1, 2, 4, 8 ..., one unit
// each). Loops are cut from the outermost, or from one inside it, inwards: inner loops stay whole
// until the outer ones are cut to single units. Columns and reductions of a matrix product have
// ladders of their own. At most `limit` distinct tiles, fewest pieces first; deterministic.
[[nodiscard]] std::vector<LoopSizes> candidate_extents(const IterationSpace& space,
                                                       std::size_t limit);
// Tiles with these extents.
[[nodiscard]] std::vector<TileConfig> tiles_of_extents(const IterationSpace& space,
                                                       std::span<const LoopSizes> all);

// Every way to cut the same loops into pieces of equal extent (the last may be shorter): per loop
// every number of pieces that gives another extent, in all combinations. At most `limit` tiles that
// fit, among the first kMostLookedAt; fewest pieces first, ties in loop order; deterministic.
inline constexpr std::size_t kMostLookedAt = 1'000'000;
[[nodiscard]] std::vector<TileConfig> all_tiles(
    const IterationSpace& space, std::size_t limit,
    const std::function<bool(const TileConfig&)>& fits = [](const TileConfig&) { return true; });
// Number of those tiles, whether they fit or not.
[[nodiscard]] double count_all_tiles(const IterationSpace& space);

inline constexpr double kLargestSide = 256;  // of library blocks

// Range of rows or columns of the blocks that a library offers for a product.
struct BlockSide {
  double least = 1, most = kLargestSide;
};
struct BlockSides {
  BlockSide rows, columns;
  double most_results = kLargestSide * kLargestSide;
  double step = 0;            // sides are 16 and multiples of it; 0: powers of two
  bool one_position = false;  // a step takes channels of one position of a convolution's window
};

// Candidates for machines that run thread blocks. Matrix kernels: 16 to 256 rows and columns within
// `sides`, powers of two or 16 and multiples of its step, steps of 32 to 128 along the contraction
// (the range of CUTLASS and cuBLAS kernels). Others: any one loop cut on its own ladder, the rest
// from the outermost inwards. At most `limit` distinct tiles, fewest blocks first; deterministic.
[[nodiscard]] std::vector<LoopSizes> simt_candidate_extents(const IterationSpace& space,
                                                            std::size_t limit,
                                                            const BlockSides& sides);
// Blocks of 16 to 256 rows and columns, each with 1 to 4 buffers and 2 to 16 warps, as Triton and
// CUTLASS offer them. At most `limit`.
[[nodiscard]] std::vector<TileConfig> scheduled_tiles(const IterationSpace& space,
                                                      std::size_t limit);

// The tile a compiler dump states. The trip counts of the compiler's loop nest (iteration_bounds:
// one per loop of the space, in order, if it has the same loops) say how many steps there are; its
// windows how they are cut, where they make so many steps of this space. Windows of another one
// (another result's, a nested product's) leave the counts, or so many pieces from the outermost
// loop inwards. nullopt if it states neither.
[[nodiscard]] std::optional<TileConfig> stated_tile(const IterationSpace& space,
                                                    const ir::CompilerTile& compiled);

}  // namespace tilecast::analytical

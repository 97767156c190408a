// The memory level from which a nest of tile loops loads its operands.
//
// An operand's tile is loaded when a loop that moves it, or a loop outside those, advances. The
// first load of a tile comes from main memory. When a loop that does not move the operand advances,
// the tile was last used one sweep ago of the inner loop that moves it: it comes from the nearest
// cache that holds all data such a sweep touches (the stack distance of Mattson et al., IBM Systems
// Journal 1970, counted in tiles as in Wolf and Lam, PLDI 1991). Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "analytical/footprint.h"

namespace tilecast::analytical {

inline constexpr std::size_t kMaxLevels = 8;

struct NestLoop {    // nests are listed innermost first
  int loop = 0;      // bit in Operand::loops
  double tiles = 1;  // size / extent: an edge tile counts as a fraction
};

struct Operand {
  std::uint32_t loops = 0;  // bit per loop that moves its tile
  double tile_bytes = 0;
};

// Number of loads per level they come from, indexed as hwdesc::Device::memory; 0 is main memory.
using LoadsFrom = std::array<double, kMaxLevels>;

// `capacities[i]`: bytes of level i; entry 0 is ignored. `always_bytes`: touched in every iteration
// in addition to the operands. `loads` has operands.size() entries.
void count_loads(std::span<const NestLoop> nest, std::span<const Operand> operands,
                 std::span<const double> capacities, double always_bytes,
                 std::span<LoadsFrom> loads);

// Passes of a kernel over its rows when a thread block cannot hold a row: a layer norm needs the
// mean before the variance, and both before the result. A block that holds the row in registers
// reads it once; GPU libraries hold rows of up to 1024 elements, 32 per thread of a warp. A maximum
// that only shifts the argument of exponentials takes no pass of its own (online softmax, Milakov
// and Gimelshein, arXiv:1805.02867).
inline constexpr double kHeldRowElements = 1024;

struct Passes {
  int count = 1;                    // 1: no reduction result is used on the rows again
  std::vector<int> times;           // per op: passes that compute it (parameters: read it)
  double row_elements = 1;          // elements reduced into one result
  std::uint32_t reduced_loops = 0;  // bit per loop along a row
};

// Dependent reductions count one pass each, and so does the result.
[[nodiscard]] Passes passes_of(const ir::Kernel& kernel, const Footprints& footprints);

// What `id` is a conversion or another view of.
[[nodiscard]] ir::OpId unconverted(const ir::Kernel& kernel, ir::OpId id);

// Bytes per element of the kernel's largest arrays that stay on the chip while a reduction over
// them runs, since operations after it need them: the most over all reductions. A conversion of an
// argument is done again.
[[nodiscard]] double kept_over_reductions(const ir::Kernel& kernel);

// Share of a repeated read that misses a cache of `capacity` bytes if `in_flight` bytes are touched
// in between on average. Reuse distances spread by a third around that mean, and eviction is oldest
// first: everything stays up to 3/4 of the capacity, nothing beyond 3/2.
[[nodiscard]] double repeated_miss_share(double capacity, double in_flight);

}  // namespace tilecast::analytical

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

}  // namespace tilecast::analytical

// Distributes the results of a product over the threads of a GPU block. Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "analytical/tile.h"
#include "ir/shape.h"

namespace tilecast::schedule {

inline constexpr std::int64_t kWarp = 32;      // threads
inline constexpr std::int64_t kFragment = 16;  // rows, columns and depth of a matrix instruction

struct ThreadBlock {
  int warps = 4;
  ir::Dims threads;  // along rows and columns of the results; {}: not stated
  [[nodiscard]] std::int64_t size() const { return warps * kWarp; }
};
// The block the tile states, else one of `warps` warps. Throws Error beyond 32 warps, a block's
// limit, and if its threads need more warps than stated.
[[nodiscard]] ThreadBlock thread_block(const analytical::TileConfig& tile, int warps);

struct Sharing {  // workers along rows and columns
  std::int64_t rows = 1, columns = 1;
};
// Warps over a product of 16-bit factors: each gets the same number of whole fragments, in a shape
// that reads least. nullopt if no such grid exists or the tile states threads.
[[nodiscard]] std::optional<Sharing> warps_over(std::int64_t rows, std::int64_t columns,
                                                std::int64_t depth, const ThreadBlock& block);
// Threads over a product on plain lanes: as stated (throws Error if their shares are unequal), else
// the largest number with equal shares, in the shape that reads the fewest factors; the other
// threads of the block are idle.
[[nodiscard]] Sharing threads_over(std::int64_t rows, std::int64_t columns,
                                   const ThreadBlock& block);

}  // namespace tilecast::schedule

// How the threads of a GPU's block share a product: which results are whose. Pure functions.
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
  ir::Dims threads;  // side by side along rows and columns of the results; {}: not told
  [[nodiscard]] std::int64_t size() const { return warps * kWarp; }
};
// As the tile says; `warps` where it says nothing. Throws Error beyond 32 warps, a block's most,
// and where its threads are no whole warps.
[[nodiscard]] ThreadBlock thread_block(const analytical::TileConfig& tile, int warps);

struct Sharing {  // of rows x columns
  std::int64_t rows = 1, columns = 1;
};
// Warps over a product of 16-bit factors: each has equally many whole fragments, nearly as many
// down as along. Nothing where no such grid exists or the threads are told.
[[nodiscard]] std::optional<Sharing> warps_over(std::int64_t rows, std::int64_t columns,
                                                std::int64_t depth, const ThreadBlock& block);
// Threads over a product on plain lanes: as told, else as many as have equal shares, so that they
// read the fewest factors; what is left of the block has no share.
[[nodiscard]] Sharing threads_over(std::int64_t rows, std::int64_t columns,
                                   const ThreadBlock& block);

}  // namespace tilecast::schedule

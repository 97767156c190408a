#include "schedule/thread_layout.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/math.h"

namespace tilecast::schedule {

ThreadBlock thread_block(const analytical::TileConfig& tile, int warps) {
  constexpr std::int64_t kMostWarps = 32;
  ThreadBlock block{tile.warps > 0 ? tile.warps : warps, tile.threads};
  if (!tile.threads.empty()) {
    const std::int64_t threads = std::accumulate(tile.threads.begin(), tile.threads.end(),
                                                 std::int64_t{1}, std::multiplies<>());
    const std::int64_t needed = base::ceil_div(threads, kWarp);
    if (tile.warps > 0 && tile.warps < needed) {
      throw Error(fmt::format("{} threads do not fit {} warps", threads, tile.warps));
    }
    if (tile.warps == 0) block.warps = static_cast<int>(std::min(needed, kMostWarps + 1));
  }
  if (block.warps < 1 || block.warps > kMostWarps) {
    throw Error(fmt::format("a block has 1 to {} warps, got {}", kMostWarps, block.warps));
  }
  return block;
}

std::optional<Sharing> warps_over(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                                  const ThreadBlock& block) {
  if (!block.threads.empty() || depth % kFragment != 0) return std::nullopt;
  std::optional<Sharing> best;
  const auto fetched = [&](const Sharing& s) { return rows / s.rows + columns / s.columns; };
  for (std::int64_t down = 1; down <= block.warps; ++down) {
    const Sharing grid{down, block.warps / down};
    if (grid.rows * grid.columns != block.warps) continue;
    if (rows % (grid.rows * kFragment) != 0 || columns % (grid.columns * kFragment) != 0) continue;
    if (!best || fetched(grid) < fetched(*best)) best = grid;
  }
  return best;
}

Sharing threads_over(std::int64_t rows, std::int64_t columns, const ThreadBlock& block) {
  if (block.threads.size() >= 2) {
    const Sharing told{block.threads[block.threads.size() - 2], block.threads.back()};
    if (rows % told.rows != 0 || columns % told.columns != 0) {
      throw Error(fmt::format("{}x{} threads have no equal shares of {}x{} results", told.rows,
                              told.columns, rows, columns));
    }
    return told;
  }
  Sharing best;
  const auto fetched = [&](const Sharing& s) { return rows / s.rows + columns / s.columns; };
  for (std::int64_t down = 1; down <= std::min(rows, block.size()); ++down) {
    if (rows % down != 0) continue;
    for (std::int64_t along = std::min(columns, block.size() / down); along >= 1; --along) {
      if (columns % along != 0) continue;
      const Sharing grid{down, along};
      const std::int64_t more = down * along - best.rows * best.columns;
      if (more > 0 || (more == 0 && fetched(grid) < fetched(best))) best = grid;
    }
  }
  return best;
}

}  // namespace tilecast::schedule

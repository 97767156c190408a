#include "analytical/simt_tiles.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/math.h"

namespace tilecast::analytical {
namespace {

constexpr std::int64_t kSides[] = {16, 32, 64, 128, 256};
constexpr std::int64_t kSteps[] = {32, 64, 128};

using Weighted = std::pair<double, LoopSizes>;  // pieces, extents

// Fills about `target` elements from the last of `loops` to the first.
void fill_from_innermost(const IterationSpace& space, std::vector<int> loops, std::int64_t target,
                         LoopSizes& extents) {
  std::sort(loops.begin(), loops.end());
  double left = static_cast<double>(target);
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    const std::int64_t size = space.loops[*loop].size;
    const double extent = std::clamp(std::round(left), 1.0, static_cast<double>(size));
    extents[*loop] = static_cast<std::int64_t>(extent);
    left /= extent;
  }
}

void add(const IterationSpace& space, const LoopSizes& extents, std::vector<Weighted>& list) {
  list.emplace_back(tile_count(space, extents), extents);
}

void add_cut(const IterationSpace& space, const LoopSizes& trips, std::vector<Weighted>& list) {
  LoopSizes extents;
  extents.fill(1);
  for (std::size_t i = 0; i < space.loops.size(); ++i) {
    extents[i] = base::ceil_div(space.loops[i].size, trips[i]);
  }
  add(space, extents, list);
}

TileConfig tile_of_extents(const IterationSpace& space, const LoopSizes& extents) {
  TileConfig tile;
  tile.output.assign(space.output_slots, 1);
  tile.kernel.assign(space.kernel_slots, 1);
  for (std::size_t i = 0; i < space.loops.size(); ++i) {
    const Loop& loop = space.loops[i];
    ir::Dims& list = loop.list == TileList::kOutput ? tile.output : tile.kernel;
    list[loop.slot] = base::ceil_div(extents[i], loop.granule);
  }
  return tile;
}

void add_matrix_tiles(const IterationSpace& space, double least_side, std::vector<Weighted>& list) {
  const MatrixLoops& matrix = *space.matrix;
  std::vector<int> reductions = matrix.positions;
  reductions.insert(reductions.end(), matrix.contraction.begin(), matrix.contraction.end());
  for (const std::int64_t rows : kSides) {
    if (static_cast<double>(rows) < least_side) continue;
    for (const std::int64_t columns : kSides) {
      if (static_cast<double>(columns) < least_side) continue;
      for (const std::int64_t step : kSteps) {
        LoopSizes extents;
        extents.fill(1);  // batches one by one
        fill_from_innermost(space, matrix.rows, rows, extents);
        fill_from_innermost(space, matrix.columns, columns, extents);
        fill_from_innermost(space, reductions, step, extents);
        add(space, extents, list);
      }
    }
  }
}

// Powers of two up to the size of the loop.
std::vector<std::int64_t> ladder(std::int64_t size) {
  std::vector<std::int64_t> steps;
  for (std::int64_t power = 1; power < size && power > 0; power *= 2) steps.push_back(power);
  steps.push_back(size);
  return steps;
}

void add_streaming_tiles(const IterationSpace& space, std::vector<Weighted>& list) {
  LoopSizes trips;
  trips.fill(1);
  add_cut(space, trips, list);
  for (const int kept : space.order) {
    for (const std::int64_t pieces : ladder(space.loops[kept].size)) {
      trips.fill(1);
      trips[kept] = pieces;
      add_cut(space, trips, list);
      for (const int loop : space.order) {
        if (loop == kept) continue;
        for (const std::int64_t outer : ladder(space.loops[loop].size)) {
          trips[loop] = outer;
          if (outer > 1) add_cut(space, trips, list);
        }
      }
    }
  }
}

}  // namespace

std::vector<TileConfig> simt_candidate_tiles(const IterationSpace& space, std::size_t limit,
                                             double least_side) {
  std::vector<Weighted> list;
  if (space.matrix) {
    add_matrix_tiles(space, least_side, list);
  } else {
    add_streaming_tiles(space, list);
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  if (list.size() > limit) list.resize(limit);
  std::vector<TileConfig> tiles;
  tiles.reserve(list.size());
  for (const auto& [pieces, extents] : list) tiles.push_back(tile_of_extents(space, extents));
  return tiles;
}

}  // namespace tilecast::analytical

#include "analytical/tile_space.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tilecast::analytical {
namespace {

using TripsList = std::vector<LoopSizes>;

// 1, 2, 4, 8, 16 ... up to the number of units (which is always included).
std::vector<std::int64_t> ladder(std::int64_t units) {
  std::vector<std::int64_t> steps;
  for (std::int64_t power = 1; power < units && power > 0; power *= 2) steps.push_back(power);
  steps.push_back(units);
  return steps;
}

// Cuts `loops` from the first to the last: each fully before the next one is touched.
TripsList cut_in_order(const IterationSpace& space, const std::vector<int>& loops) {
  TripsList list;
  LoopSizes trips;
  trips.fill(1);
  list.push_back(trips);
  for (const int loop : loops) {
    for (const std::int64_t pieces : ladder(space.loops[loop].units())) {
      if (pieces == 1) continue;
      trips[loop] = pieces;
      list.push_back(trips);
    }
  }
  return list;
}

// Every combination of two lists of cuts of different loops.
TripsList combine(const TripsList& a, const TripsList& b) {
  TripsList list;
  list.reserve(a.size() * b.size());
  for (const LoopSizes& x : a) {
    for (const LoopSizes& y : b) {
      LoopSizes trips;
      for (std::size_t i = 0; i < trips.size(); ++i) trips[i] = std::max(x[i], y[i]);
      list.push_back(trips);
    }
  }
  return list;
}

double pieces(const LoopSizes& trips) {
  double product = 1;
  for (const std::int64_t t : trips) product *= static_cast<double>(t);
  return product;
}

std::vector<int> spatial_loops(const IterationSpace& space) {
  std::vector<int> loops;
  for (const int loop : space.order) {
    const auto& columns = space.matrix->columns;
    const bool is_column = std::find(columns.begin(), columns.end(), loop) != columns.end();
    if (!space.loops[loop].reduction && !is_column) loops.push_back(loop);
  }
  return loops;
}

}  // namespace

std::vector<TileConfig> candidate_tiles(const IterationSpace& space, std::size_t limit) {
  TripsList list;
  if (space.matrix) {
    std::vector<int> reductions = space.matrix->positions;
    reductions.insert(reductions.end(), space.matrix->contraction.begin(),
                      space.matrix->contraction.end());
    list = combine(combine(cut_in_order(space, spatial_loops(space)),
                           cut_in_order(space, space.matrix->columns)),
                   cut_in_order(space, reductions));
  } else {
    list = cut_in_order(space, space.order);
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const LoopSizes& a, const LoopSizes& b) { return pieces(a) < pieces(b); });
  if (list.size() > limit) list.resize(limit);
  std::vector<TileConfig> tiles;
  tiles.reserve(list.size());
  for (const LoopSizes& trips : list) tiles.push_back(tile_of_trips(space, trips));
  return tiles;
}

}  // namespace tilecast::analytical

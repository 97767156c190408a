#include "analytical/tile_space.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "base/math.h"

namespace tilecast::analytical {
namespace {

using SizesList = std::vector<LoopSizes>;

// 1, 2, 4, 8, 16 ... up to the number of units, which is always included.
std::vector<std::int64_t> ladder(std::int64_t units) {
  std::vector<std::int64_t> steps;
  for (std::int64_t power = 1; power < units && power > 0; power *= 2) steps.push_back(power);
  steps.push_back(units);
  return steps;
}

// Cuts `loops` from the first to the last, each fully before the next; what operands gain nothing
// from is cut last.
SizesList cut_in_order(const IterationSpace& space, const std::vector<int>& loops) {
  SizesList list;
  LoopSizes trips;
  trips.fill(1);
  list.push_back(trips);
  for (const bool within_tiles : {false, true}) {
    for (const int i : loops) {
      const Loop& loop = space.loops[i];
      const std::int64_t most = within_tiles
                                    ? loop.units()
                                    : base::ceil_div(loop.size, std::max(loop.least, loop.granule));
      for (const std::int64_t pieces : ladder(most)) {
        if (pieces <= trips[i]) continue;
        trips[i] = pieces;
        list.push_back(trips);
      }
    }
  }
  return list;
}

// The same, also with the first 1, 2, ... loops left whole: useful for copies that change the
// layout and reductions over a major dimension.
SizesList cut_inside(const IterationSpace& space, const std::vector<int>& loops) {
  SizesList list = cut_in_order(space, loops);
  for (std::size_t whole = 1; whole < loops.size(); ++whole) {
    if (space.loops[loops[whole - 1]].units() <= 1) continue;
    const SizesList rest = cut_in_order(space, {loops.begin() + whole, loops.end()});
    list.insert(list.end(), rest.begin() + 1, rest.end());
  }
  return list;
}

// Every combination of two lists of cuts of different loops.
SizesList combine(const SizesList& a, const SizesList& b) {
  SizesList list;
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
  return std::accumulate(trips.begin(), trips.end(), 1.0, std::multiplies<double>());
}

std::vector<int> reduction_loops(const MatrixLoops& matrix) {
  std::vector<int> loops = matrix.positions;
  loops.insert(loops.end(), matrix.contraction.begin(), matrix.contraction.end());
  return loops;
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

// Spatial loops, those along which windows overlap after the others.
std::vector<int> with_windows_last(const IterationSpace& space) {
  std::vector<int> loops = spatial_loops(space);
  std::ranges::stable_partition(loops, [&](int loop) {
    const auto& rows = space.matrix->window_rows;
    return std::ranges::find(rows, loop) == rows.end();
  });
  return loops;
}

std::vector<std::int64_t> sides_of(double step) {
  if (step <= 0) return {16, 32, 64, 128, 256};
  std::vector<std::int64_t> sides{16};
  for (double side = step; side <= kLargestSide; side += step) {
    sides.push_back(static_cast<std::int64_t>(side));
  }
  return sides;
}

constexpr std::int64_t kTileSteps[] = {32, 64, 128};

// Sets extents of about `target` elements in all, from the last of `loops`, which are sorted, to
// the first.
void fill_from_innermost(const IterationSpace& space, const std::vector<int>& loops,
                         std::int64_t target, LoopSizes& extents) {
  double left = static_cast<double>(target);
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    const std::int64_t size = space.loops[*loop].size;
    const double extent = std::clamp(std::round(left), 1.0, static_cast<double>(size));
    extents[*loop] = static_cast<std::int64_t>(extent);
    left /= extent;
  }
}

bool has_block(const BlockSides& sides, std::int64_t of_rows, std::int64_t of_columns) {
  const auto rows = static_cast<double>(of_rows), columns = static_cast<double>(of_columns);
  return rows >= sides.rows.least && rows <= sides.rows.most && columns >= sides.columns.least &&
         columns <= sides.columns.most && rows * columns <= sides.most_results;
}

SizesList matrix_extents(const IterationSpace& space, const BlockSides& sides) {
  const MatrixLoops& matrix = *space.matrix;
  const auto sorted = [](std::vector<int> loops) {
    std::ranges::sort(loops);
    return loops;
  };
  const std::vector<int> of_rows = sorted(matrix.rows), of_columns = sorted(matrix.columns);
  const std::vector<int> of_step =
      sorted(sides.one_position ? matrix.contraction : reduction_loops(matrix));
  SizesList list;
  LoopSizes extents;
  extents.fill(1);  // batches one by one
  const std::vector<std::int64_t> lengths = sides_of(sides.step);
  for (const std::int64_t rows : lengths) {
    fill_from_innermost(space, of_rows, rows, extents);
    for (const std::int64_t columns : lengths) {
      if (!has_block(sides, rows, columns)) continue;
      fill_from_innermost(space, of_columns, columns, extents);
      for (const std::int64_t step : kTileSteps) {
        fill_from_innermost(space, of_step, step, extents);
        list.push_back(extents);
      }
    }
  }
  return list;
}

SizesList streaming_extents(const IterationSpace& space) {
  SizesList list;
  const auto add_cut = [&](const LoopSizes& trips) {
    LoopSizes& extents = list.emplace_back();
    extents.fill(1);
    for (std::size_t i = 0; i < space.loops.size(); ++i) {
      const std::int64_t size = space.loops[i].size;
      extents[i] = trips[i] == 1 ? size : base::ceil_div(size, trips[i]);
    }
  };
  for (const int kept : space.order) {
    for (const std::int64_t pieces_of_kept : ladder(space.loops[kept].size)) {
      LoopSizes trips;
      trips.fill(1);
      trips[kept] = pieces_of_kept;
      add_cut(trips);
      for (const int loop : space.order) {
        if (loop == kept) continue;
        for (const std::int64_t outer : ladder(space.loops[loop].size)) {
          trips[loop] = outer;
          if (outer > 1) add_cut(trips);
        }
      }
    }
  }
  if (list.empty()) add_cut({});
  return list;
}

// The numbers of pieces of a loop that give different extents, fewest first.
std::vector<std::int64_t> all_pieces(std::int64_t units) {
  std::vector<std::int64_t> pieces;
  for (std::int64_t next = 1; next <= units;) {
    pieces.push_back(next);
    const std::int64_t extent = base::ceil_div(units, next);
    if (extent == 1) break;
    next = base::ceil_div(units, extent - 1);  // the fewest pieces of a smaller extent
  }
  return pieces;
}

std::vector<int> cut_loops(const IterationSpace& space) {
  if (!space.matrix) return space.order;
  std::vector<int> loops = spatial_loops(space);
  const std::vector<int> reduced = reduction_loops(*space.matrix);
  loops.insert(loops.end(), space.matrix->columns.begin(), space.matrix->columns.end());
  loops.insert(loops.end(), reduced.begin(), reduced.end());
  return loops;
}

std::vector<std::vector<std::int64_t>> pieces_by_loop(const IterationSpace& space) {
  std::vector<std::vector<std::int64_t>> all;
  for (const int loop : cut_loops(space)) all.push_back(all_pieces(space.loops[loop].units()));
  return all;
}

// Whether a tile takes so many steps: on each core, where two work as one and share them.
bool makes_steps(const IterationSpace& space, const TileConfig& tile, double steps) {
  constexpr double kCores = 2;
  const double taken = tile_count(space, tile_extents(space, tile));
  return taken <= kCores * steps && steps <= kCores * taken;
}

// About `count` pieces in all, the outermost loops cut first.
LoopSizes cut_into(const IterationSpace& space, double count) {
  LoopSizes trips;
  trips.fill(1);
  for (const int i : space.order) {
    const double most = static_cast<double>(space.loops[i].units());
    trips[i] = static_cast<std::int64_t>(std::clamp(std::round(count), 1.0, most));
    count /= static_cast<double>(trips[i]);
  }
  return trips;
}

// A choice of pieces per loop, by index; loops after `last` are not cut yet.
struct Cut {
  double pieces = 1;
  std::vector<std::uint32_t> chosen;
  std::size_t last = 0;
  [[nodiscard]] bool operator>(const Cut& other) const {
    return std::tie(pieces, other.chosen) > std::tie(other.pieces, chosen);
  }
};

}  // namespace

std::vector<TileConfig> all_tiles(const IterationSpace& space, std::size_t limit,
                                  const std::function<bool(const TileConfig&)>& fits) {
  const std::vector<int> loops = cut_loops(space);
  const std::vector<std::vector<std::int64_t>> pieces = pieces_by_loop(space);
  // Each cut is reached once: from the one whose last cut loop is a step coarser.
  std::priority_queue<Cut, std::vector<Cut>, std::greater<>> open;
  open.push({1, std::vector<std::uint32_t>(loops.size(), 0), 0});
  std::vector<TileConfig> tiles;
  for (std::size_t looked_at = 0;
       !open.empty() && tiles.size() < limit && looked_at < kMostLookedAt; ++looked_at) {
    const Cut cut = open.top();
    open.pop();
    LoopSizes trips;
    trips.fill(1);
    for (std::size_t i = 0; i < loops.size(); ++i) trips[loops[i]] = pieces[i][cut.chosen[i]];
    TileConfig tile = tile_of_trips(space, trips);
    if (fits(tile)) tiles.push_back(std::move(tile));
    for (std::size_t i = cut.last; i < loops.size(); ++i) {
      const std::uint32_t step = cut.chosen[i] + 1;
      if (step == pieces[i].size()) continue;
      Cut next{cut.pieces * static_cast<double>(pieces[i][step]) /
                   static_cast<double>(pieces[i][step - 1]),
               cut.chosen, i};
      next.chosen[i] = step;
      open.push(std::move(next));
    }
  }
  return tiles;
}

double count_all_tiles(const IterationSpace& space) {
  double count = 1;
  for (const auto& pieces : pieces_by_loop(space)) count *= static_cast<double>(pieces.size());
  return count;
}

std::vector<LoopSizes> candidate_extents(const IterationSpace& space, std::size_t limit) {
  SizesList list;
  if (space.matrix) {
    SizesList spatial = cut_inside(space, spatial_loops(space));
    if (space.matrix->overlaps && !space.matrix->window_rows.empty()) {
      const SizesList whole = cut_in_order(space, with_windows_last(space));
      spatial.insert(spatial.end(), whole.begin() + 1, whole.end());
    }
    list = combine(combine(spatial, cut_in_order(space, space.matrix->columns)),
                   cut_in_order(space, reduction_loops(*space.matrix)));
  } else {
    list = cut_inside(space, space.order);
  }
  std::vector<std::pair<double, std::size_t>> fewest;  // pieces, place in the list
  fewest.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) fewest.emplace_back(pieces(list[i]), i);
  std::sort(fewest.begin(), fewest.end());
  if (fewest.size() > limit) fewest.resize(limit);
  SizesList candidates;
  candidates.reserve(fewest.size());
  for (const auto& [count, i] : fewest) {
    candidates.push_back(clamped(space, extents_of_trips(space, list[i])));
  }
  return candidates;
}

std::vector<TileConfig> tiles_of_extents(const IterationSpace& space,
                                         std::span<const LoopSizes> all) {
  std::vector<TileConfig> tiles;
  tiles.reserve(all.size());
  for (const LoopSizes& extents : all) tiles.push_back(tile_of_extents(space, extents));
  return tiles;
}

std::vector<LoopSizes> simt_candidate_extents(const IterationSpace& space, std::size_t limit,
                                              const BlockSides& sides) {
  const SizesList all = space.matrix ? matrix_extents(space, sides) : streaming_extents(space);
  std::vector<std::pair<double, const LoopSizes*>> list;  // tiles, extents
  list.reserve(all.size());
  for (const LoopSizes& extents : all) list.emplace_back(tile_count(space, extents), &extents);
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : *a.second < *b.second;
  });
  const auto same = [](const auto& a, const auto& b) { return *a.second == *b.second; };
  list.erase(std::unique(list.begin(), list.end(), same), list.end());
  if (list.size() > limit) list.resize(limit);
  SizesList candidates;
  candidates.reserve(list.size());
  for (const auto& [count, extents] : list) candidates.push_back(clamped(space, *extents));
  return candidates;
}

std::vector<TileConfig> scheduled_tiles(const IterationSpace& space, std::size_t limit) {
  constexpr BlockSide kSide{.least = 16, .most = kLargestSide};
  constexpr int kMostStages = 4;
  std::vector<TileConfig> tiles;
  for (const LoopSizes& extents :
       simt_candidate_extents(space, limit, {.rows = kSide, .columns = kSide})) {
    const TileConfig block = tile_of_extents(space, extents);
    for (int stages = 1; stages <= kMostStages; ++stages) {
      for (const int warps : {2, 4, 8, 16}) {
        if (tiles.size() == limit) return tiles;
        tiles.push_back(block);
        tiles.back().stages = stages;
        tiles.back().warps = warps;
      }
    }
  }
  return tiles;
}

std::optional<TileConfig> stated_tile(const IterationSpace& space,
                                      const ir::CompilerTile& compiled) {
  const ir::Dims& bounds = compiled.iteration_bounds;
  const bool by_loop = !bounds.empty() && bounds.size() == space.loops.size();
  const bool has_windows = !compiled.output_bounds.empty() || !compiled.kernel_bounds.empty();
  if (!by_loop && !has_windows) return std::nullopt;
  LoopSizes trips{};
  if (by_loop) std::ranges::copy(bounds, trips.begin());
  double steps = 1;
  bool same_loops = by_loop;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    steps *= static_cast<double>(bounds[i]);
    same_loops = same_loops && trips[i] <= space.loops[i].units();
  }
  TileConfig tile;
  if (!bounds.empty()) tile = tile_of_trips(space, same_loops ? trips : cut_into(space, steps));
  if (!has_windows) return tile;
  TileConfig windows = tile;
  if (!compiled.output_bounds.empty()) windows.output = compiled.output_bounds;
  if (!compiled.kernel_bounds.empty()) windows.kernel = compiled.kernel_bounds;
  windows.input = compiled.input_bounds;
  if (bounds.empty() || makes_steps(space, windows, steps)) return windows;
  windows.kernel = {};  // of an operand whose dimensions are merged here
  return makes_steps(space, windows, steps) ? windows : tile;
}

}  // namespace tilecast::analytical

// The loop nest of a kernel on a tiled machine: which dimensions a tile cuts, and in which order
// they run.
//
// One op anchors the space: a convolution, dot or ragged-dot (its output dimensions plus the
// contracted ones), else the input of the largest reduction, else the largest output. The extents
// of the anchor's tile determine those of every other op by walking the graph (footprint.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analytical/tile.h"
#include "base/math.h"
#include "hwdesc/device.h"
#include "ir/ops/index_map.h"

namespace tilecast::analytical {

inline constexpr int kMaxLoops = 12;
inline constexpr int kMaxRank = ir::kMaxMapRank;

using Extents = std::array<std::int64_t, kMaxRank>;     // per dimension of an op, elements
using LoopSizes = std::array<std::int64_t, kMaxLoops>;  // per loop, elements

enum class TileList : std::uint8_t { kOutput, kKernel };

struct Loop {
  std::int64_t size = 1;     // elements
  std::int64_t granule = 1;  // elements per tile unit: 8 sublanes, 128 lanes, else 1
  bool reduction = false;    // contracted: splitting it needs an accumulator
  TileList list = TileList::kOutput;
  int slot = 0;  // position in that list of a TileConfig
  // Elements below which an operand reads no less: its native tile spans them.
  std::int64_t least = 1;
  // For rows in groups with a right-hand side each (ragged-dot): tiles computed again because a
  // group ends within them. At most one per group, except the last.
  std::int64_t revisits = 0;
  std::vector<std::int64_t> groups;  // rows of every group that has any, where they are known
  bool grouped = false;  // loop over groups: one at a time, advanced at revisits of the rows
  [[nodiscard]] std::int64_t units() const { return base::ceil_div(size, granule); }
  // Tiles of this extent where rows of groups are padded to whole ones (kernels of GPUs).
  [[nodiscard]] double padded_tiles(std::int64_t extent) const;
};

// Matrix work of the anchor: the loops of its rows (M), columns (N), contraction (K) and batch.
struct MatrixLoops {
  std::vector<int> rows, columns, contraction, batch;
  std::vector<int> positions;  // kernel window positions, each with its own weight matrix
  // Per window dimension: the loop over its positions, -1 if it is whole. It is a batch loop if
  // every output has a position of its own: a dot written as a convolution.
  std::vector<int> window_loops;
  std::vector<int>
      window_rows;          // per entry of `positions`: the row loop that the window moves along
  bool overlaps = false;    // a convolution of the kernel reads overlapping windows
  int group_loop = -1;      // the groups of a ragged-dot
  std::int64_t groups = 1;  // feature groups
  double dilation = 1;      // one in this many positions meets input; the rest are holes or padding
  ir::OpId op;
};

struct IterationSpace {
  std::vector<Loop> loops;  // anchor dimensions first, then contracted ones
  std::vector<int> order;   // loop indices, outermost first
  ir::OpId anchor;
  std::vector<int> anchor_loops;  // loop of each anchor dimension
  std::optional<MatrixLoops> matrix;
  std::size_t output_slots = 0, kernel_slots = 0;
  std::vector<std::string> flags;  // approximations
};

[[nodiscard]] IterationSpace make_iteration_space(const ir::Kernel& kernel,
                                                  const hwdesc::NativeTile& native);

// Results that are a parameter in its own buffer and cost nothing: aliased results, buffers of a
// collective that overlaps with the kernel.
[[nodiscard]] std::vector<ir::OpId> passed_through(const ir::Kernel& kernel);
// Tile extent of every loop, in elements, clamped to the loop.
[[nodiscard]] LoopSizes tile_extents(const IterationSpace& space, const TileConfig& tile);
// Number of tiles of these extents: iterations of the whole nest.
[[nodiscard]] double tile_count(const IterationSpace& space, const LoopSizes& extents);
// Product of the sizes of these loops: per tile, and of the whole loops.
[[nodiscard]] double product(const LoopSizes& sizes, const std::vector<int>& loops);
[[nodiscard]] double whole_product(const IterationSpace& space, const std::vector<int>& loops);
// Columns of the matrix work per feature group.
[[nodiscard]] double columns_per_group(const IterationSpace& space);
// A ragged-dot over groups of rows; one split along its contraction or batch has no groups.
[[nodiscard]] bool multiplies_groups(const ir::Op& op);

// Groups of a ragged-dot that have rows: those of its sizes, if they are constant, else as many as
// rows that choose among all of them alike are expected to meet, E (1 - (1 - 1 / E)^rows).
struct GroupsMet {
  std::vector<std::int64_t> rows;  // of each, if known
  double count = 0;
};
[[nodiscard]] GroupsMet groups_met(const ir::Kernel& kernel, const ir::Op& op);

// Multiply-adds per element of the result of a dot or convolution.
[[nodiscard]] double contraction_size(const ir::Kernel& kernel, const ir::Op& op);
[[nodiscard]] TileConfig full_tile(const IterationSpace& space);
// The tile with these extents.
[[nodiscard]] TileConfig tile_of_extents(const IterationSpace& space, const LoopSizes& extents);
// Extents as tile_extents() gives them for the tile with these: whole units, within the loops.
[[nodiscard]] LoopSizes clamped(const IterationSpace& space, LoopSizes extents);
[[nodiscard]] LoopSizes extents_of_trips(const IterationSpace& space, const LoopSizes& trips);
// The tile that cuts loop i into `trips[i]` pieces (of whole units).
[[nodiscard]] TileConfig tile_of_trips(const IterationSpace& space, const LoopSizes& trips);
using ir::physical_order;
// Whether a contracted dimension of this dot operand is innermost in memory.
[[nodiscard]] bool depth_is_minor(const ir::Kernel& kernel, const ir::Op& dot, std::size_t operand);

}  // namespace tilecast::analytical

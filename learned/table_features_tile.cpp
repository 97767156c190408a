#include <algorithm>
#include <cmath>

#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

using analytical::IterationSpace;
using analytical::LoopSizes;
using analytical::product;
using analytical::TileConfig;

struct TileFacts {
  double output_tiles = kMissing, reduction_steps = kMissing;
  double elements = kMissing, output_elements = kMissing, output_bytes = kMissing;
  double minor = kMissing, second_minor = kMissing, minor_share = kMissing;
  double trips_minor = kMissing, outer_trips = kMissing, ragged = kMissing;
  double working_set = kMissing, m = kMissing, n = kMissing, k = kMissing, intensity = kMissing;
};

double at(const LoopSizes& sizes, std::size_t loop) {
  return static_cast<double>(sizes[loop]);
}

// Computes the facts that depend on the loops and the tile's bounds.
void set_loops(const IterationSpace& space, const LoopSizes& extents, TileFacts& facts) {
  double all = 1;
  facts.elements = facts.output_elements = facts.output_tiles = facts.reduction_steps = 1;
  for (std::size_t i = 0; i < space.loops.size(); ++i) {
    const analytical::Loop& loop = space.loops[i];
    const auto trips = static_cast<double>((loop.size + extents[i] - 1) / extents[i]);
    all *= static_cast<double>(loop.size);
    facts.elements *= at(extents, i);
    if (!loop.reduction) facts.output_elements *= at(extents, i);
    (loop.reduction ? facts.reduction_steps : facts.output_tiles) *= trips;
  }
  facts.ragged = 1 - ratio(all, facts.output_tiles * facts.reduction_steps * facts.elements);
  if (space.output_slots == 0) return;
  const std::size_t minor = space.output_slots - 1;  // the anchor's loops are in physical order
  const auto size = static_cast<double>(space.loops[minor].size);
  facts.minor = at(extents, minor);
  facts.minor_share = facts.minor / size;
  facts.trips_minor = std::ceil(size / facts.minor);
  facts.outer_trips = std::ceil(static_cast<double>(space.loops[0].size) / at(extents, 0));
  facts.second_minor = minor > 0 ? at(extents, minor - 1) : 1;
}

void set_working_set(const TileScan& scan, const LoopSizes& extents, TileFacts& facts) {
  const IterationSpace& space = scan.space;
  facts.output_bytes = facts.output_elements * scan.output_bytes;
  if (space.matrix) {
    const double batch = product(extents, space.matrix->batch);
    facts.m = product(extents, space.matrix->rows);
    facts.n = product(extents, space.matrix->columns);
    facts.k =
        product(extents, space.matrix->contraction) * product(extents, space.matrix->positions);
    facts.working_set = facts.output_bytes +
                        batch * facts.k * (facts.m * scan.lhs_bytes + facts.n * scan.rhs_bytes);
    facts.intensity = ratio(batch * facts.m * facts.n * facts.k, facts.working_set);
  } else {
    facts.working_set = scan.bytes * facts.elements / scan.positions;
  }
}

TileFacts facts_of(const TileScan& scan, const TileConfig* tile) {
  TileFacts facts;
  if (tile == nullptr || scan.space.loops.empty()) return facts;
  const LoopSizes extents = analytical::tile_extents(scan.space, *tile);
  set_loops(scan.space, extents, facts);
  set_working_set(scan, extents, facts);
  return facts;
}

double operand_bytes(const KernelScan& scan, std::size_t operand) {
  const ir::OpId id = scan.matrix->operands[operand];
  return ir::storage_bytes(scan.kernel->op(id).shape.dtype);
}

}  // namespace

void TileScan::of(const KernelScan& scan, const hwdesc::Device& device) {
  space = analytical::make_iteration_space(*scan.kernel, device.native_tile);
  positions = 1;
  for (const analytical::Loop& loop : space.loops) positions *= static_cast<double>(loop.size);
  output_bytes = 0;
  for (const ir::OpId id : scan.kernel->outputs()) {
    output_bytes += ir::storage_bytes(scan.kernel->op(id).shape.dtype);
  }
  if (scan.matrix != nullptr) {
    lhs_bytes = operand_bytes(scan, 0);
    rhs_bytes = operand_bytes(scan, 1);
  }
  bytes = scan.parameter_bytes + scan.output_bytes;
  innermost_capacity = device.memory.empty() ? kMissing : device.scratchpad().capacity.value;
  cache_capacity = learned::cache_capacity(device);
}

TileSizes tile_sizes(const TileScan& scan, const TileConfig* tile) {
  const TileFacts facts = facts_of(scan, tile);
  return {.minor = facts.minor,
          .second_minor = facts.second_minor,
          .m = facts.m,
          .n = facts.n,
          .k = facts.k};
}

// Lists and their order match the 24 tile features of TpuGraphs.
void tile_columns(const TileScan& scan, const TileConfig* tile, Columns& to) {
  const TileFacts facts = facts_of(scan, tile);
  const auto bounds = [&](const Columns::Text& text, ir::Dims TileConfig::*list) {
    to.list(text, tile == nullptr ? nullptr : &(tile->*list), kListEntries, 0);
  };
  bounds({"kernel", "Bounds on the weights, most major first, the minor two in native tiles."},
         &TileConfig::kernel);
  bounds({"output", "Bounds on the output, most major first, the minor two in native tiles."},
         &TileConfig::output);
  bounds({"input", "Bounds on the input, most major first, the minor two in native tiles."},
         &TileConfig::input);
  to.value({"iterations", "Tiles that cover all loops."},
           facts.output_tiles * facts.reduction_steps);
  to.value({"output_tiles", "Tiles that cover the loops that are not summed over."},
           facts.output_tiles);
  to.value({"reduction_steps", "Tiles that add up to one output tile."}, facts.reduction_steps);
  to.value({"elements", "Loop positions of a full tile."}, facts.elements);
  to.value({"output_elements", "Positions of a full tile that are not summed over."},
           facts.output_elements);
  to.value({"output_bytes", "Bytes a full tile writes, without padding.", "B"}, facts.output_bytes);
  to.value({"minor", "Extent of the tile in the minor-most dimension, elements."}, facts.minor);
  to.value({"second_minor", "Extent in the second most minor dimension, elements."},
           facts.second_minor);
  to.value({"minor_share", "tile.minor over the size of that dimension."}, facts.minor_share);
  to.value({"minor_trips", "Tiles along the minor-most dimension."}, facts.trips_minor);
  to.value({"outer_trips", "Tiles along the most major dimension."}, facts.outer_trips);
  to.value({"ragged", "Share of the positions of all tiles that lie beyond the loops."},
           facts.ragged);
  to.value({"working_set",
            "Bytes of one tile: outputs and matrix operands, else its share of all bytes.", "B"},
           facts.working_set);
  to.value({"working_set_innermost", "tile.working_set over the capacity of the innermost memory."},
           ratio(facts.working_set, scan.innermost_capacity));
  to.value({"working_set_cache",
            "tile.working_set over the capacity of the largest memory below main memory."},
           ratio(facts.working_set, scan.cache_capacity));
  to.value({"matrix_m", "Rows of the tile's product of matrices."}, facts.m);
  to.value({"matrix_n", "Columns of the tile's product."}, facts.n);
  to.value({"matrix_k", "Terms of each sum of the tile's product."}, facts.k);
  to.value({"intensity", "Multiply-adds of the tile's product over tile.working_set.", "1/B"},
           facts.intensity);
}

}  // namespace tilecast::learned

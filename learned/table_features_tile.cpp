#include <algorithm>

#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

using analytical::IterationSpace;
using analytical::LoopSizes;
using analytical::product;
using analytical::TileConfig;

struct TileFacts {
  ListValues kernel = missing_list(), output = missing_list(), input = missing_list();
  double iterations = kMissing, output_tiles = kMissing, reduction_steps = kMissing;
  double elements = kMissing, output_elements = kMissing, output_bytes = kMissing;
  double minor = kMissing, second_minor = kMissing, minor_share = kMissing;
  double trips_minor = kMissing, outer_trips = kMissing, ragged = kMissing;
  double working_set = kMissing, working_set_innermost = kMissing, working_set_cache = kMissing;
  double m = kMissing, n = kMissing, k = kMissing, intensity = kMissing;
};

using Rows = std::span<const ColumnRow<TileFacts>>;

// Lists and their order are those of the 24 features of a TpuGraphs tile.
constexpr auto kRows = std::to_array<ColumnRow<TileFacts>>({
    column<&TileFacts::kernel>(
        "tile.kernel", "1",
        "Bounds on the weights, most major first, the minor two in native tiles"),
    column<&TileFacts::output>(
        "tile.output", "1",
        "Bounds on the output, most major first, the minor two in native tiles"),
    column<&TileFacts::input>(
        "tile.input", "1", "Bounds on the input, most major first, the minor two in native tiles"),
    column<&TileFacts::iterations>("tile.iterations", "1", "Tiles that cover all loops."),
    column<&TileFacts::output_tiles>("tile.output_tiles", "1",
                                     "Tiles that cover the loops that are not summed over."),
    column<&TileFacts::reduction_steps>("tile.reduction_steps", "1",
                                        "Tiles that add up to one output tile."),
    column<&TileFacts::elements>("tile.elements", "1", "Loop positions of a full tile."),
    column<&TileFacts::output_elements>("tile.output_elements", "1",
                                        "Positions of a full tile that are not summed over."),
    column<&TileFacts::output_bytes>("tile.output_bytes", "B",
                                     "Bytes a full tile writes, without padding."),
    column<&TileFacts::minor>("tile.minor", "1",
                              "Extent of the tile in the minor-most dimension, elements."),
    column<&TileFacts::second_minor>("tile.second_minor", "1",
                                     "Extent in the second most minor dimension, elements."),
    column<&TileFacts::minor_share>("tile.minor_share", "1",
                                    "tile.minor over the size of that dimension."),
    column<&TileFacts::trips_minor>("tile.minor_trips", "1",
                                    "Tiles along the minor-most dimension."),
    column<&TileFacts::outer_trips>("tile.outer_trips", "1",
                                    "Tiles along the most major dimension."),
    column<&TileFacts::ragged>("tile.ragged", "1",
                               "Share of the positions of all tiles that lie beyond the loops."),
    column<&TileFacts::working_set>(
        "tile.working_set", "B",
        "Bytes of one tile: outputs and matrix operands, else its share of all bytes."),
    column<&TileFacts::working_set_innermost>(
        "tile.working_set_innermost", "1",
        "tile.working_set over the capacity of the innermost memory."),
    column<&TileFacts::working_set_cache>(
        "tile.working_set_cache", "1",
        "tile.working_set over the capacity of the largest memory below main memory."),
    column<&TileFacts::m>("tile.matrix_m", "1", "Rows of the tile's product of matrices."),
    column<&TileFacts::n>("tile.matrix_n", "1", "Columns of the tile's product."),
    column<&TileFacts::k>("tile.matrix_k", "1", "Terms of each sum of the tile's product."),
    column<&TileFacts::intensity>("tile.intensity", "1/B",
                                  "Multiply-adds of the tile's product over tile.working_set."),
});

double at(const LoopSizes& sizes, std::size_t loop) {
  return static_cast<double>(sizes[loop]);
}

// What the loops make of the bounds.
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
  facts.iterations = facts.output_tiles * facts.reduction_steps;
  facts.ragged = 1 - ratio(all, facts.iterations * facts.elements);
  if (space.output_slots == 0) return;
  const std::size_t minor = space.output_slots - 1;  // the anchor's loops stand in physical order
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
  facts.working_set_innermost = ratio(facts.working_set, scan.innermost_capacity);
  facts.working_set_cache = ratio(facts.working_set, scan.cache_capacity);
}

ListValues bounds(const ir::Dims& list) {
  ListBuilder entries(0);
  for (const std::int64_t entry : list) entries.add(entry);
  return entries.values();
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

void tile_columns(std::vector<FeatureColumn>& columns) {
  append_columns(Rows(kRows), FeatureGroup::kTile, columns);
}

std::size_t write_tile(const TileScan& scan, const TileConfig* tile, std::span<float> out) {
  TileFacts facts;
  if (tile != nullptr) {
    facts.kernel = bounds(tile->kernel);
    facts.output = bounds(tile->output);
    facts.input = bounds(tile->input);
    if (!scan.space.loops.empty()) {
      const LoopSizes extents = analytical::tile_extents(scan.space, *tile);
      set_loops(scan.space, extents, facts);
      set_working_set(scan, extents, facts);
    }
  }
  return write_columns(Rows(kRows), facts, out);
}

}  // namespace tilecast::learned

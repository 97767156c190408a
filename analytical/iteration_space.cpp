#include "analytical/iteration_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/math.h"
#include "ir/kernels/in_place_update.h"

namespace tilecast::analytical {
namespace {

using ir::Dims;
using ir::Kernel;
using ir::Op;
using ir::Opcode;
using ir::OpId;
using ir::Shape;

bool has_matrix_loops(const Op& op) {
  return op.shape.is_array() && op.shape.rank() <= kMaxRank &&
         ir::op_class(op.opcode) == ir::OpClass::kMatrix &&
         (op.opcode != Opcode::kRaggedDot || multiplies_groups(op));
}

// Whether each op leads to another one of these.
std::vector<bool> leading_to(const Kernel& kernel, const std::vector<OpId>& ops) {
  std::vector<bool> leads(kernel.ops().size(), false);
  const auto mark = [&](OpId id) {
    for (const OpId operand : kernel.op(id).operands) leads[operand.index()] = true;
  };
  std::ranges::for_each(ops, mark);
  for (std::size_t i = leads.size(); i-- > 0;) {
    if (leads[i]) mark(OpId(i));
  }
  return leads;
}

// The product whose loops a tile cuts. One that makes an operand of another one is computed inside
// the other's loops, as its operands are.
OpId find_matrix_op(const Kernel& kernel) {
  std::vector<OpId> products;
  for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
    if (has_matrix_loops(kernel.ops()[i])) products.emplace_back(i);
  }
  if (products.size() > 1) {
    const std::vector<bool> leads = leading_to(kernel, products);
    std::erase_if(products, [&](OpId id) { return leads[id.index()]; });
  }
  OpId best;
  double most = 0;
  for (const OpId id : products) {
    const Op& op = kernel.op(id);
    const double work =
        static_cast<double>(ir::element_count(op.shape)) * contraction_size(kernel, op);
    if (work > most) {
      most = work;
      best = id;
    }
  }
  return best;
}

std::int64_t elements_or_zero(const Shape& shape) {
  return shape.is_array() ? ir::element_count(shape) : 0;
}

// The op whose region a tile cuts when there is no matrix work.
OpId find_anchor(const Kernel& kernel) {
  OpId anchor;
  std::int64_t most = -1;
  const std::vector<OpId> passed_on = passed_through(kernel);
  for (const OpId id : kernel.outputs()) {
    if (std::ranges::find(passed_on, id) != passed_on.end()) continue;
    const OpId made = ir::made_of(kernel, id);
    if (elements_or_zero(kernel.op(made).shape) <= most) continue;
    most = elements_or_zero(kernel.op(made).shape);
    anchor = made;
  }
  if (!anchor.valid() && !kernel.outputs().empty()) anchor = kernel.outputs().front();
  for (const Op& op : kernel.ops()) {
    if (op.opcode != Opcode::kReduce || op.operands.empty()) continue;
    const Shape& shape = kernel.op(op.operands[0]).shape;
    const std::int64_t elements = elements_or_zero(shape);
    const bool deeper = anchor.valid() && shape.rank() > kernel.op(anchor).shape.rank();
    if (elements > most || (elements == most && deeper)) {
      most = elements;
      anchor = op.operands[0];
    }
  }
  return anchor;
}

std::int64_t granule_of(const hwdesc::NativeTile& native, int physical, int rank) {
  if (!native.tiled) return 1;
  if (rank == 1) return native.sublanes * native.lanes;
  if (physical == rank - 1) return native.lanes;
  return physical == rank - 2 ? native.sublanes : 1;
}

// Whether the op exchanges dimensions by its layout alone: what lies in memory stays where it is.
bool turns_in_place(const Kernel& kernel, const Op& op) {
  if (op.opcode != Opcode::kBitcast) return false;
  const Shape& from = kernel.op(op.operands[0]).shape;
  return ir::same_dims(from, op.shape) && physical_order(from) != physical_order(op.shape);
}

// The layout that a tile's output bounds refer to: that of an output with the anchor's dimensions.
const Shape& tiled_shape(const Kernel& kernel, OpId anchor) {
  const Shape& own = kernel.op(anchor).shape;
  for (const OpId id : kernel.outputs()) {
    const Shape& shape = kernel.op(id).shape;
    if (!ir::same_dims(shape, own)) continue;
    const bool same = physical_order(shape) == physical_order(own);
    const auto turns = [&](const Op& op) { return turns_in_place(kernel, op); };
    return same || std::ranges::none_of(kernel.ops(), turns) ? shape : own;
  }
  return own;
}

void add_anchor_loops(const Kernel& kernel, const hwdesc::NativeTile& native,
                      IterationSpace& space) {
  const Shape& shape = tiled_shape(kernel, space.anchor);
  const Dims order = physical_order(shape);
  const int rank = shape.rank();
  space.anchor_loops.assign(rank, -1);
  for (int slot = 0; slot < rank; ++slot) {
    const auto dim = order[slot];
    space.anchor_loops[dim] = static_cast<int>(space.loops.size());
    space.loops.push_back(
        {.size = shape.dims[dim], .granule = granule_of(native, slot, rank), .slot = slot});
  }
  space.output_slots = rank;
}

// Adds the loop of one contracted dimension of the right-hand side, cut by the kernel list.
int add_reduction_loop(IterationSpace& space, const Shape& rhs, std::int64_t dim,
                       const hwdesc::NativeTile& native) {
  if (space.loops.size() >= kMaxLoops) return -1;
  const Dims order = physical_order(rhs);
  const auto at = std::find(order.begin(), order.end(), dim);
  const int slot = static_cast<int>(at - order.begin());
  space.loops.push_back({.size = rhs.dims[dim],
                         .granule = granule_of(native, slot, rhs.rank()),
                         .reduction = true,
                         .list = TileList::kKernel,
                         .slot = slot});
  return static_cast<int>(space.loops.size()) - 1;
}

void push_loop(std::vector<int>& loops, int loop) {
  if (loop >= 0) loops.push_back(loop);
}

// Whether every output meets exactly one window position, each a different one. Batched dots are
// written like that: a window of the batch's size, padded or dilated so that only pairs meet.
bool pairs_positions(std::int64_t input, std::int64_t output, const ir::WindowDim& window) {
  constexpr std::int64_t kLargestBatch = 4096;  // larger windows are not checked
  if (window.size <= 1 || window.size > kLargestBatch || window.size != output ||
      ir::valid_positions(input, output, window) != output) {
    return false;
  }
  std::vector<bool> met(window.size);
  for (std::int64_t at = 0; at < output; ++at) {
    std::int64_t meets = 0;
    for (std::int64_t k = 0; k < window.size; ++k) {
      const std::int64_t place = at * window.stride + k * window.window_dilation - window.pad_low;
      const bool on_input = place >= 0 && place % window.base_dilation == 0;
      if (!on_input || place / window.base_dilation >= input) continue;
      ++meets;
      met[k] = true;
    }
    if (meets != 1) return false;
  }
  return std::ranges::count(met, true) == output;
}

// Window positions per position that meets input; no more can meet than there is input.
double positions_per_met(std::int64_t input, const ir::WindowDim& window) {
  const double size = static_cast<double>(window.size);
  const double met = std::min(size / static_cast<double>(window.base_dilation),
                              static_cast<double>(std::max<std::int64_t>(input, 1)));
  return size / met;
}

void add_conv_loops(const Kernel& kernel, const Op& op, const hwdesc::NativeTile& native,
                    IterationSpace& space, MatrixLoops& matrix) {
  const auto& attrs = op.as<ir::ConvAttrs>();
  const Shape &lhs = kernel.op(op.operands[0]).shape, &rhs = kernel.op(op.operands[1]).shape;
  std::vector<std::vector<int>*> roles(op.shape.rank(), &matrix.rows);
  roles[attrs.dims.output_feature] = &matrix.columns;
  for (std::size_t i = 0; i < attrs.window.size(); ++i) {
    const std::int64_t input = lhs.dims[attrs.dims.input_spatial[i]];
    const std::int64_t of_output = attrs.dims.output_spatial[i];
    if (pairs_positions(input, op.shape.dims[of_output], attrs.window[i])) {
      roles[of_output] = &matrix.batch;
      matrix.window_loops.push_back(space.anchor_loops[of_output]);
      continue;
    }
    const int loop = add_reduction_loop(space, rhs, attrs.dims.kernel_spatial[i], native);
    matrix.window_loops.push_back(loop);
    if (loop >= 0) matrix.window_rows.push_back(space.anchor_loops[of_output]);
    push_loop(matrix.positions, loop);
    matrix.dilation *= positions_per_met(input, attrs.window[i]);
  }
  matrix.overlaps = std::ranges::any_of(kernel.ops(), [](const Op& other) {
    const auto* conv = other.get<ir::ConvAttrs>();
    const auto wide = [](const ir::WindowDim& dim) { return dim.size > 1; };
    return conv != nullptr && std::ranges::any_of(conv->window, wide);
  });
  for (int d = 0; d < op.shape.rank(); ++d) roles[d]->push_back(space.anchor_loops[d]);
  push_loop(matrix.contraction,
            add_reduction_loop(space, rhs, attrs.dims.kernel_input_feature, native));
  matrix.groups = std::max(attrs.feature_group_count, attrs.batch_group_count);
}

constexpr double kMostMet = 0.99;  // share of the groups below which the expectation is named

// Groups are consecutive along the ragged rows: ceil(rows / tile) tiles, plus one for every group
// that ends within a tile (as the grouped kernels of Pallas visit them).
void add_group_loop(const ir::DotDims& dims, const Shape& rhs, GroupsMet met, IterationSpace& space,
                    MatrixLoops& matrix) {
  if (space.loops.size() >= kMaxLoops) return;
  const std::int64_t group = dims.rhs_group[0];
  const auto order = physical_order(rhs);
  const auto slot = std::ranges::find(order, group) - order.begin();
  const auto contracted_before = std::ranges::count_if(
      dims.lhs_contracting, [&](std::int64_t d) { return d < dims.lhs_ragged[0]; });
  const auto batch_after =
      std::ranges::count_if(dims.lhs_batch, [&](std::int64_t d) { return d > dims.lhs_ragged[0]; });
  const auto row = dims.lhs_ragged[0] - contracted_before + batch_after;  // of the result
  Loop& rows = space.loops[space.anchor_loops[row]];
  rows.revisits = std::max<std::int64_t>(std::llround(met.count), 1) - 1;
  if (met.rows.empty() && met.count < kMostMet * static_cast<double>(rhs.dims[group])) {
    space.flags.push_back(
        fmt::format("{:.0f} of {} groups are expected to have rows", met.count, rhs.dims[group]));
  }
  rows.groups = std::move(met.rows);
  matrix.group_loop = static_cast<int>(space.loops.size());
  space.loops.push_back({.size = rhs.dims[group],
                         .list = TileList::kKernel,
                         .slot = static_cast<int>(slot),
                         .grouped = true});
}

void add_dot_loops(const Kernel& kernel, const Op& op, const hwdesc::NativeTile& native,
                   IterationSpace& space, MatrixLoops& matrix) {
  const ir::DotDims& dims = op.as<ir::DotAttrs>().dims;
  const Shape& lhs = kernel.op(op.operands[0]).shape;
  const Shape& rhs = kernel.op(op.operands[1]).shape;
  const int batch = static_cast<int>(dims.lhs_batch.size());
  const int rows = lhs.rank() - batch - static_cast<int>(dims.lhs_contracting.size());
  for (int d = 0; d < op.shape.rank(); ++d) {
    auto& role = d < batch ? matrix.batch : d < batch + rows ? matrix.rows : matrix.columns;
    role.push_back(space.anchor_loops[d]);
  }
  for (const std::int64_t d : dims.rhs_contracting) {
    push_loop(matrix.contraction, add_reduction_loop(space, rhs, d, native));
  }
  if (multiplies_groups(op)) {
    add_group_loop(dims, rhs, groups_met(kernel, op), space, matrix);
  }
}

void add_matrix_loops(const Kernel& kernel, const hwdesc::NativeTile& native,
                      IterationSpace& space) {
  const Op& op = kernel.op(space.anchor);
  MatrixLoops matrix;
  matrix.op = space.anchor;
  space.kernel_slots = kernel.op(op.operands[1]).shape.rank();
  if (op.opcode == Opcode::kConvolution) {
    add_conv_loops(kernel, op, native, space, matrix);
  } else {
    add_dot_loops(kernel, op, native, space, matrix);
  }
  space.matrix = std::move(matrix);
}

// Marks the loops that cut a native tile of an operand of the product.
void note_operand_tiles(const Kernel& kernel, const hwdesc::NativeTile& native,
                        IterationSpace& space) {
  const Op& op = kernel.op(space.anchor);
  for (std::size_t operand = 0; operand < 2; ++operand) {
    const Shape& shape = kernel.op(op.operands[operand]).shape;
    const ir::IndexMap map = ir::operand_map(kernel, op, operand);
    const Dims order = physical_order(shape);
    if (map.same_volume || map.rank != std::ssize(order)) continue;
    for (int slot = std::max(0, map.rank - 2); slot < map.rank; ++slot) {
      const int dim = map.dims[static_cast<std::size_t>(order[slot])].source;
      if (dim < 0) continue;
      Loop& loop = space.loops[space.anchor_loops[dim]];
      loop.least = std::max(loop.least, granule_of(native, slot, map.rank));
    }
  }
}

// Matrix units keep weights stationary, so loops that change the weights run outermost, and
// reductions innermost for their accumulator; other kernels run in memory order.
std::vector<int> loop_order(const IterationSpace& space) {
  std::vector<int> order;
  const auto append = [&order](const std::vector<int>& loops) {
    std::vector<int> sorted = loops;
    std::sort(sorted.begin(), sorted.end());
    order.insert(order.end(), sorted.begin(), sorted.end());
  };
  if (space.matrix) {
    append(space.matrix->batch);
    append(space.matrix->columns);
    append(space.matrix->rows);
    append(space.matrix->positions);
    append(space.matrix->contraction);
    return order;
  }
  for (std::size_t i = 0; i < space.loops.size(); ++i) order.push_back(static_cast<int>(i));
  return order;
}

}  // namespace

bool depth_is_minor(const ir::Kernel& kernel, const ir::Op& dot, std::size_t operand) {
  const auto* attributes = dot.get<ir::DotAttrs>();
  if (attributes == nullptr) return false;
  const ir::Shape& shape = kernel.op(dot.operands[operand]).shape;
  const ir::DotDims& dims = attributes->dims;
  const ir::Dims& contracted = operand == 0 ? dims.lhs_contracting : dims.rhs_contracting;
  ir::Dims order = physical_order(shape);
  while (order.size() > 1 && shape.dims[static_cast<std::size_t>(order.back())] == 1) {
    order.pop_back();
  }
  return !order.empty() && std::ranges::find(contracted, order.back()) != contracted.end();
}

std::vector<OpId> passed_through(const Kernel& kernel) {
  std::vector<OpId> passed;
  for (const auto& [output, parameter] : kernel.in_place()) {
    const OpId id = kernel.outputs()[output];
    const Op& op = kernel.op(id);
    const bool copied =
        op.opcode == Opcode::kCopy && op.operands[0] == kernel.parameters()[parameter];
    if (copied || id == kernel.parameters()[parameter]) passed.push_back(id);
  }
  return passed;
}

IterationSpace make_iteration_space(const Kernel& kernel, const hwdesc::NativeTile& native) {
  IterationSpace space;
  const OpId matrix = find_matrix_op(kernel);
  space.anchor = matrix.valid() ? matrix : find_anchor(kernel);
  if (!space.anchor.valid()) return space;
  if (kernel.op(space.anchor).shape.rank() > kMaxRank) {
    space.flags.push_back("rank above 8: streamed as one dimension");
    space.loops.push_back(
        {.size = std::max<std::int64_t>(ir::element_count(kernel.op(space.anchor).shape), 1),
         .granule = native.tiled ? native.sublanes * native.lanes : 1});
    space.output_slots = 1;
    space.order = {0};
    return space;
  }
  add_anchor_loops(kernel, native, space);
  if (matrix.valid()) {
    add_matrix_loops(kernel, native, space);
    note_operand_tiles(kernel, native, space);
  }
  for (Loop& loop : space.loops) loop.size = std::max<std::int64_t>(loop.size, 1);
  space.order = loop_order(space);
  return space;
}

LoopSizes tile_extents(const IterationSpace& space, const TileConfig& tile) {
  LoopSizes extents;
  extents.fill(1);
  for (std::size_t i = 0; i < space.loops.size(); ++i) {
    const Loop& loop = space.loops[i];
    const Dims& list = loop.list == TileList::kOutput ? tile.output : tile.kernel;
    const bool cut = !loop.grouped && static_cast<std::size_t>(loop.slot) < list.size();
    const std::int64_t units =
        cut ? std::max<std::int64_t>(list[loop.slot], 1) : (loop.grouped ? 1 : loop.size);
    if (__builtin_mul_overflow(units, loop.granule, &extents[i])) extents[i] = loop.size;
    extents[i] = std::min(extents[i], loop.size);
  }
  return extents;
}

double Loop::padded_tiles(std::int64_t extent) const {
  if (groups.empty()) {
    return static_cast<double>(size) / static_cast<double>(extent) + static_cast<double>(revisits);
  }
  std::int64_t tiles = 0;
  for (const std::int64_t rows : groups) tiles += base::ceil_div(rows, extent);
  return static_cast<double>(tiles);
}

double tile_count(const IterationSpace& space, const LoopSizes& extents) {
  double count = 1;
  for (std::size_t i = 0; i < space.loops.size(); ++i) {
    const Loop& loop = space.loops[i];
    if (loop.grouped) continue;
    const std::int64_t tiles = extents[i] == loop.size ? 1 : base::ceil_div(loop.size, extents[i]);
    count *= static_cast<double>(tiles + loop.revisits);
  }
  return count;
}

TileConfig tile_of_extents(const IterationSpace& space, const LoopSizes& extents) {
  TileConfig tile;
  tile.output.assign(space.output_slots, 1);
  tile.kernel.assign(space.kernel_slots, 1);
  for (std::size_t i = 0; i < space.loops.size(); ++i) {
    const Loop& loop = space.loops[i];
    Dims& list = loop.list == TileList::kOutput ? tile.output : tile.kernel;
    list[loop.slot] = loop.grouped ? 1 : base::ceil_div(extents[i], loop.granule);
  }
  return tile;
}

LoopSizes clamped(const IterationSpace& space, LoopSizes extents) {
  for (std::size_t i = 0; i < space.loops.size(); ++i) {
    const Loop& loop = space.loops[i];
    const std::int64_t units =
        loop.grouped ? 1 : std::max<std::int64_t>(base::ceil_div(extents[i], loop.granule), 1);
    if (__builtin_mul_overflow(units, loop.granule, &extents[i])) extents[i] = loop.size;
    extents[i] = std::min(extents[i], loop.size);
  }
  return extents;
}

TileConfig tile_of_trips(const IterationSpace& space, const LoopSizes& trips) {
  return tile_of_extents(space, extents_of_trips(space, trips));
}

LoopSizes extents_of_trips(const IterationSpace& space, const LoopSizes& trips) {
  LoopSizes extents;
  extents.fill(1);
  for (std::size_t i = 0; i < space.loops.size(); ++i) {
    const Loop& loop = space.loops[i];
    extents[i] = base::ceil_div(loop.units(), std::max<std::int64_t>(trips[i], 1)) * loop.granule;
  }
  return extents;
}

double product(const LoopSizes& sizes, const std::vector<int>& loops) {
  double p = 1;
  for (const int loop : loops) p *= static_cast<double>(sizes[loop]);
  return p;
}

double whole_product(const IterationSpace& space, const std::vector<int>& loops) {
  double p = 1;
  for (const int loop : loops) p *= static_cast<double>(space.loops[loop].size);
  return p;
}

bool multiplies_groups(const Op& op) {
  return op.opcode == Opcode::kRaggedDot && !op.as<ir::DotAttrs>().dims.rhs_group.empty();
}

GroupsMet groups_met(const Kernel& kernel, const Op& op) {
  const ir::DotDims& dims = op.as<ir::DotAttrs>().dims;
  const auto* sizes = kernel.op(op.operands[2]).get<ir::ConstantAttrs>();
  const Shape &lhs = kernel.op(op.operands[0]).shape, &rhs = kernel.op(op.operands[1]).shape;
  const std::int64_t groups = rhs.dims[dims.rhs_group[0]];
  if (sizes != nullptr && std::cmp_equal(sizes->literal.integers.size(), groups)) {
    GroupsMet met{.rows = sizes->literal.integers};
    std::erase_if(met.rows, [](std::int64_t rows) { return rows <= 0; });
    met.count = static_cast<double>(met.rows.size());
    return met;
  }
  const auto rows = static_cast<double>(lhs.dims[dims.lhs_ragged[0]]);
  const auto all = static_cast<double>(groups);
  return {.rows = {}, .count = all - all * std::pow(1 - 1 / std::max(all, 1.0), rows)};
}

double columns_per_group(const IterationSpace& space) {
  const MatrixLoops& matrix = *space.matrix;
  const double groups = static_cast<double>(matrix.groups);
  return std::max(whole_product(space, matrix.columns) / groups, 1.0);
}

double contraction_size(const Kernel& kernel, const Op& op) {
  const Shape& rhs = kernel.op(op.operands[1]).shape;
  double size = 1;
  if (const auto* dot = op.get<ir::DotAttrs>()) {
    for (const std::int64_t d : dot->dims.rhs_contracting) size *= static_cast<double>(rhs.dims[d]);
  } else if (const auto* conv = op.get<ir::ConvAttrs>()) {
    size = static_cast<double>(ir::element_count(rhs)) /
           std::max(1.0, static_cast<double>(rhs.dims[conv->dims.kernel_output_feature]));
  }
  return size;
}

TileConfig full_tile(const IterationSpace& space) {
  LoopSizes once;
  once.fill(1);
  return tile_of_trips(space, once);
}

}  // namespace tilecast::analytical

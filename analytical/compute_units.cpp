#include "analytical/compute_units.h"

#include <algorithm>
#include <cmath>

namespace tilecast::analytical {
namespace {

using ir::OpId;

double ceil_ratio(double a, double b) {
  return base::ceil(a / b);
}

// Marks the anchor and the ops it depends on.
std::vector<bool> ancestors_of(const ir::Kernel& kernel, OpId anchor) {
  std::vector<bool> needed(kernel.ops().size(), false);
  if (!anchor.valid()) return needed;
  needed[anchor.index()] = true;
  for (std::size_t i = anchor.index() + 1; i-- > 0;) {
    if (!needed[i]) continue;
    for (const OpId operand : kernel.ops()[i].operands) needed[operand.index()] = true;
  }
  return needed;
}

// Weight blocks for `positions` kernel positions, where several share a block because each fills
// only part of the array's rows.
double packed_positions(double positions, double contraction, double rows) {
  const double per_block = base::floor(rows / std::max(contraction, 1.0));
  return per_block > 1 && positions > 1 ? ceil_ratio(positions, per_block) : positions;
}

std::vector<GroupWork> groups_with_work(const std::vector<ElementWork>& by_group) {
  std::vector<GroupWork> work;
  for (std::size_t g = 0; g < by_group.size(); ++g) {
    if (by_group[g] != ElementWork{}) work.push_back({by_group[g], g});
  }
  return work;
}

}  // namespace

UnitCycles UnitCycles::without(BoundMask removed) const {
  UnitCycles left = *this;
  if (removed == 0) return left;
  for (const Unit& unit : kUnits) {
    if (has(removed, unit.bound)) left.*unit.cycles = 0;
  }
  left.conversion = std::min(left.conversion, left.vector);
  return left;
}

std::vector<BoundMask> co_issue_of(const hwdesc::Device& device) {
  if (device.co_issue.empty()) return {~BoundMask{0}};
  std::vector<BoundMask> masks;
  for (const std::vector<std::string>& together : device.co_issue) {
    masks.push_back(0);
    for (const Unit& unit : kUnits) {
      const bool named = std::ranges::find(together, name(unit.bound)) != together.end();
      if (named) masks.back() |= mask_of(unit.bound);
    }
  }
  return masks;
}

double overlapped(const UnitCycles& cycles, std::span<const BoundMask> co_issue) {
  double total = 0;
  for (const BoundMask together : co_issue) {
    double longest = 0;
    for (const auto& [bound, of_unit] : kUnits) {
      if (has(together, bound)) longest = std::max(longest, cycles.*of_unit);
    }
    total += longest;
  }
  return std::max({total, cycles.on_chip, cycles.matrix + cycles.conversion});
}

ComputeModel::ComputeModel(const ir::Kernel& kernel, const hwdesc::Device& device,
                           const IterationSpace& space, const Footprints& footprints,
                           std::span<const int> times)
    : device_(&device), space_(&space), co_issue_(co_issue_of(device)) {
  const std::size_t groups = footprints.groups().size();
  padding_.resize(groups);
  const std::vector<bool> prologue = space.matrix ? ancestors_of(kernel, space.matrix->op)
                                                  : std::vector<bool>(kernel.ops().size(), false);
  for (std::size_t g = 0; g < groups; ++g) {
    const ir::Shape& shape =
        ir::first_array(kernel.op(footprints.groups()[g].representative).shape);
    const ir::Dims order = physical_order(shape);
    padding_[g].rank = std::min(shape.rank(), kMaxRank);
    if (shape.rank() > kMaxRank) continue;
    if (!order.empty()) padding_[g].minor = static_cast<int>(order.back());
    if (order.size() > 1) padding_[g].second = static_cast<int>(order[order.size() - 2]);
  }
  find_chain(kernel, footprints, prologue);
  std::vector<ElementWork> before(groups), after(groups);
  if (space.matrix) {
    type_ = analytical::product_type(kernel, kernel.op(space.matrix->op), device);
    add_widening(kernel, footprints, before);
  }
  for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
    if (space.matrix && OpId(i) == space.matrix->op) continue;
    for (int t = 0; t < (times.empty() ? 1 : times[i]); ++t) {
      add_op_work(kernel, OpId(i), device, footprints, prologue[i] ? before : after);
    }
  }
  before_ = groups_with_work(before);
  after_ = groups_with_work(after);
  for (const GroupWork& work : before_) loops_.prologue |= footprints.groups()[work.group].loops;
  for (const GroupWork& work : after_) loops_.epilogue |= footprints.groups()[work.group].loops;
  if (space.anchor.valid()) {
    anchor_group_ = footprints.group_of(space.anchor);
    loops_.anchor = footprints.groups()[anchor_group_].loops;
  }
  if (space.matrix) set_matrix(kernel);
}

// Operands that the unit cannot take as they are cost one vector operation per element; types with
// a `convert-` entry are counted where they are loaded.
void ComputeModel::add_widening(const ir::Kernel& kernel, const Footprints& footprints,
                                std::vector<ElementWork>& work) const {
  if (!type_.on_unit()) return;
  for (const OpId id : std::span(kernel.op(space_->matrix->op).operands).first(2)) {
    const ir::Shape& shape = kernel.op(id).shape;
    const bool as_parts = ir::bits(shape.dtype) >= ir::bits(type_.dtype);
    if (shape.dtype == type_.dtype || as_parts || conversion_cost(shape, *device_) > 0) continue;
    work[footprints.group_of(id)].vector += 1;
  }
}

void ComputeModel::set_matrix(const ir::Kernel& kernel) {
  const hwdesc::MatrixUnit& unit = device_->matrix;
  if (type_.on_unit()) {
    const double base = 2.0 * device_->multiplexing.workers * unit.count * unit.rows_per_cycle *
                        static_cast<double>(unit.rows * unit.columns) *
                        unit.clock.value_or(device_->clock).value;
    passes_ = base / device_->matrix_peak(ir::name(type_.dtype)).value;
  }
  const std::vector<OpId>& operands = kernel.op(space_->matrix->op).operands;
  for (std::size_t i = 0; i < shifting_.size(); ++i) {
    shifting_[i] = words_per_element(kernel.op(operands[i]).shape, *device_) *
                   static_cast<double>(unit.rows) / std::min(passes_, 1.0) / unit.rows_per_cycle;
  }
  const ir::Op& pushed = kernel.op(operands[0]);
  double widening = 0;  // cycles to widen a row
  if (device_->native_tile.tiled && pushed.opcode == ir::Opcode::kParameter) {
    const hwdesc::VectorUnit& vector = device_->vector;  // of one core: the size of its registers
    const bool as_is = goes_to_unit(kernel, operands[0], *device_);
    widening = (as_is ? 0 : widening_cost(pushed.shape, *device_)) *
               static_cast<double>(unit.rows) /
               (static_cast<double>(vector.lanes * device_->native_tile.sublanes) * vector.alus *
                vector.efficiency);
  }
  array_rows_ = static_cast<double>(unit.rows) / std::min(passes_, 1.0);
  push_ = std::max(passes_, 1.0) / unit.rows_per_cycle + widening;
}

// Longest latency from operands in the scratchpad, or the anchor's result, to any op after it.
void ComputeModel::find_chain(const ir::Kernel& kernel, const Footprints& footprints,
                              const std::vector<bool>& prologue) {
  const double vector = device_->vector.latency.value;
  const double special = device_->transcendental.latency.value;
  const double cross = device_->cross_lane.latency.value;
  if (vector + special + cross <= 0) return;
  const double load = device_->scratchpad().latency.value * device_->clock.value;
  std::vector<double> ready(kernel.ops().size(), 0.0);
  std::vector<ElementWork> work(footprints.groups().size());
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (prologue[i]) continue;
    std::ranges::fill(work, ElementWork{});
    add_op_work(kernel, OpId(i), *device_, footprints, work);
    for (const OpId operand : kernel.ops()[i].operands) {
      ready[i] = std::max(ready[i], ready[operand.index()]);
    }
    for (const ElementWork& w : work) {
      const bool moves_lanes = w.cross_lane + w.cross_lane_reduce > 0;
      ready[i] += w.vector * vector + w.transcendental * special + (moves_lanes ? cross : 0) +
                  (w.load_bytes > 0 ? load : 0);
    }
    chain_ = std::max(chain_, ready[i]);
  }
}

double ComputeModel::vector_matrix_cycles(const LoopSizes& tile) const {
  double multiply_adds = 1;
  for (std::size_t i = 0; i < space_->loops.size(); ++i) {
    multiply_adds *= static_cast<double>(tile[i]);
  }
  const hwdesc::VectorUnit& vector = device_->vector;
  return 2 * type_.products * multiply_adds /
         (static_cast<double>(vector.lanes * vector.sublanes) * vector.alus * vector.efficiency);
}

// Rows pushed of the moving operand (over `loops`). They arrive as vector registers whose sublanes
// are the second-minor dimension; unfilled sublanes are pushed as well.
double ComputeModel::pushed(const LoopSizes& tile, const std::vector<int>& loops) const {
  const hwdesc::NativeTile& native = device_->native_tile;
  const double sublanes = native.tiled ? static_cast<double>(native.sublanes) : 1;
  double rows = 1;
  for (const int loop : loops) {
    const bool in_sublanes = native.tiled && space_->loops[loop].granule == native.sublanes;
    rows *=
        static_cast<double>(in_sublanes ? base::round_up(tile[loop], native.sublanes) : tile[loop]);
  }
  return round_up(rows, sublanes);
}

// Cycles of `blocks` loads with `pushed` rows through each, over all arrays.
double ComputeModel::block_cycles(double blocks, double pushed, double load, double shift) const {
  const hwdesc::MatrixUnit& unit = device_->matrix;
  const double push = pushed * push_;
  const double count = unit.count;
  const double rounds = base::floor(blocks / count);
  const double rest = blocks - rounds * count;
  const auto cycles = [&](double pushes) {
    return unit.weight_load_hidden ? std::max(pushes, load) : std::max(pushes + load, shift);
  };
  return rounds * cycles(push) + (rest > 0 ? cycles(push * rest / count) : 0);
}

double ComputeModel::matrix_cycles(const LoopSizes& tile) const {
  if (!has_matrix_work()) return 0;
  const MatrixLoops& loops = *space_->matrix;
  const hwdesc::MatrixUnit& unit = device_->matrix;
  const double array_columns = static_cast<double>(unit.columns);
  const double contraction = product(tile, loops.contraction);
  double columns = product(tile, loops.columns);
  double matrices = product(tile, loops.batch);
  if (loops.groups > 1) {  // several small groups share a block, each on its own diagonal part
    const double per_group = columns_per_group(*space_);
    const double in_tile = std::max(columns / per_group, 1.0);
    const double share = std::max(
        std::min(base::floor(array_rows_ / contraction), base::floor(array_columns / per_group)),
        1.0);
    matrices *= ceil_ratio(in_tile, share);
    columns = std::min(columns, per_group);
  }
  // An output meets only the kernel positions that fall on real input between the holes of a
  // dilation; on average less than one if the window is smaller than a hole.
  const double met = product(tile, loops.positions) / loops.dilation;
  const double positions = packed_positions(met, contraction, array_rows_);
  const double products = matrices * positions * ceil_ratio(contraction, array_rows_);
  const double wide = ceil_ratio(columns, array_columns);
  const double load = unit.weight_load.value;
  const double rows = pushed(tile, loops.rows);
  double cycles = block_cycles(products * wide, rows, load, shifting_[1]);
  if (loops.groups == 1 && positions <= 1) {
    // With the left operand stationary, the right one is transposed on its way, which takes as long
    // as a load. Its rows fill sublanes as when pushed.
    const double tall = ceil_ratio(rows, array_columns);
    cycles = std::min(cycles, block_cycles(products * tall, pushed(tile, loops.columns),
                                           load * (tall + wide) / tall, shifting_[0]));
  }
  return type_.products * cycles / unit.efficiency + matrix_fill_cycles();
}

double ComputeModel::padded_elements(std::size_t group, const Extents& extents) const {
  const hwdesc::VectorUnit& vector = device_->vector;
  if (device_->native_tile.tiled) return tiled_elements(group, extents, vector.sublanes);
  double flat = 1;  // elements go to lanes in memory order
  for (int d = 0; d < padding_[group].rank; ++d) flat *= static_cast<double>(extents[d]);
  return round_up(flat, static_cast<double>(vector.lanes * vector.sublanes));
}

double ComputeModel::tiled_elements(std::size_t group, const Extents& extents,
                                    std::int64_t sublanes) const {
  const Padding& padding = padding_[group];
  double elements = 1;
  for (int d = 0; d < padding.rank; ++d) {
    std::int64_t extent = extents[d];
    if (d == padding.minor) extent = base::round_up(extent, device_->vector.lanes);
    if (d == padding.second) extent = base::round_up(extent, sublanes);
    elements *= static_cast<double>(extent);
  }
  return elements;
}

UnitCycles ComputeModel::sum(const std::vector<GroupWork>& work, std::span<const Extents> extents,
                             std::span<const double> times) const {
  const hwdesc::VectorUnit& vector = device_->vector;
  const hwdesc::CrossLaneUnit& cross = device_->cross_lane;
  const double width = static_cast<double>(vector.lanes * vector.sublanes);
  UnitCycles cycles;
  double loads = 0;
  double stores = 0;
  for (const GroupWork& w : work) {
    const std::size_t g = w.group;
    const double repeats = times.empty() ? 1 : times[g];
    if (repeats == 0) continue;
    const double elements = repeats * padded_elements(g, extents[g]);
    const double operations = elements / (width * vector.alus * vector.efficiency);
    cycles.vector += (w.vector + w.conversion) * operations;
    cycles.conversion += w.conversion * operations;
    if (w.transcendental > 0) {
      cycles.transcendental += w.transcendental * elements / device_->transcendental.per_cycle;
    }
    if (w.cross_lane > 0) {  // works row by row: pads lanes, not sublanes
      const double rows = repeats * tiled_elements(g, extents[g], 1);
      cycles.cross_lane += w.cross_lane * rows / cross.elements_per_cycle;
    }
    if (w.cross_lane_reduce > 0) {
      cycles.cross_lane += w.cross_lane_reduce * elements / cross.reduce_elements_per_cycle;
    }
    if (w.irregular > 0) {
      cycles.cross_lane += w.irregular * elements / cross.irregular_elements_per_cycle;
    }
    cycles.matrix += w.matrix * elements;
    loads += w.load_bytes * elements;
    stores += w.store_bytes * elements;
  }
  constexpr double kWordBytes = 4;
  cycles.on_chip = std::max(loads / (kWordBytes * width * vector.load_ports),
                            stores / (kWordBytes * width * vector.store_ports));
  return cycles;
}

UnitCycles ComputeModel::accumulate(std::span<const Extents> extents) const {
  if (anchor_group_ < 0) return {};
  const hwdesc::VectorUnit& vector = device_->vector;
  const double width = static_cast<double>(vector.lanes * vector.sublanes);
  const double registers = padded_elements(anchor_group_, extents[anchor_group_]) / width;
  return {.vector = registers / vector.alus,
          .on_chip = std::max(registers / vector.load_ports, registers / vector.store_ports)};
}

double ComputeModel::accumulator_bytes(std::span<const Extents> extents) const {
  constexpr double kAccumulatorBytes = 4;  // f32
  return anchor_group_ < 0
             ? 0
             : kAccumulatorBytes * padded_elements(anchor_group_, extents[anchor_group_]);
}

}  // namespace tilecast::analytical

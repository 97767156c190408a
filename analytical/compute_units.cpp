#include "analytical/compute_units.h"

#include <algorithm>
#include <cmath>

#include "analytical/footprint_steps.h"

namespace tilecast::analytical {
namespace {

using ir::OpId;

double ceil_ratio(double a, double b) {
  return std::ceil(a / b);
}

// Marks the ops whose results the anchor needs.
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

// Kernel positions that share one weight block because each fills only part of the array's rows.
double packed_positions(double positions, double contraction, double rows) {
  const double per_block = std::floor(rows / std::max(contraction, 1.0));
  return per_block > 1 ? ceil_ratio(positions, per_block) : positions;
}

}  // namespace

double round_up(double value, double multiple) {
  return std::ceil(value / multiple) * multiple;
}

UnitCycles UnitCycles::without(BoundMask removed) const {
  UnitCycles left = *this;
  for (const Unit& unit : kUnits) {
    if (has(removed, unit.bound)) left.*unit.cycles = 0;
  }
  return left;
}

ComputeModel::ComputeModel(const ir::Kernel& kernel, const hwdesc::Device& device,
                           const IterationSpace& space, const Footprints& footprints,
                           std::span<const int> times)
    : device_(&device), space_(&space) {
  const std::size_t groups = footprints.groups().size();
  if (device.co_issue.empty()) co_issue_ = {~BoundMask{0}};
  for (const std::vector<std::string>& together : device.co_issue) {
    co_issue_.push_back(0);
    for (const Unit& unit : kUnits) {
      const bool named =
          std::find(together.begin(), together.end(), name(unit.bound)) != together.end();
      if (named) co_issue_.back() |= mask_of(unit.bound);
    }
  }
  before_.resize(groups);
  after_.resize(groups);
  padding_.resize(groups);
  const std::vector<bool> prologue = space.matrix ? ancestors_of(kernel, space.matrix->op)
                                                  : std::vector<bool>(kernel.ops().size(), false);
  for (std::size_t g = 0; g < groups; ++g) {
    const ir::Shape& shape = region_shape(kernel.op(footprints.groups()[g].representative).shape);
    const ir::Dims order = physical_order(shape);
    padding_[g].rank = std::min(shape.rank(), kMaxRank);
    if (shape.rank() > kMaxRank) continue;
    if (!order.empty()) padding_[g].minor = static_cast<int>(order.back());
    if (order.size() > 1) padding_[g].second = static_cast<int>(order[order.size() - 2]);
  }
  for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
    if (space.matrix && OpId(i) == space.matrix->op) continue;
    for (int t = 0; t < (times.empty() ? 1 : times[i]); ++t) {
      add_op_work(kernel, OpId(i), device, footprints, prologue[i] ? before_ : after_);
    }
  }
  if (space.anchor.valid()) anchor_group_ = footprints.group_of(space.anchor);
  if (space.matrix) {
    const double peak = device.matrix_peak(space.matrix->lhs_dtype).value;
    const hwdesc::MatrixUnit& unit = device.matrix;
    const double base = 2.0 * device.multiplexing.workers * unit.count * unit.rows_per_cycle *
                        static_cast<double>(unit.rows * unit.columns) *
                        unit.clock.value_or(device.clock).value;
    passes_ = peak > 0 ? base / peak : 0;
  }
}

double ComputeModel::vector_matrix_cycles(const LoopSizes& tile) const {
  double multiply_adds = 1;
  for (std::size_t i = 0; i < space_->loops.size(); ++i) {
    multiply_adds *= static_cast<double>(tile[i]);
  }
  const hwdesc::VectorUnit& vector = device_->vector;
  return 2 * multiply_adds /
         (static_cast<double>(vector.lanes * vector.sublanes) * vector.alus * vector.efficiency);
}

// Operand rows arrive as vector registers whose sublanes are the second-minor dimension of the
// activations; sublanes it does not fill are pushed all the same.
double ComputeModel::pushed_rows(const LoopSizes& tile) const {
  const hwdesc::NativeTile& native = device_->native_tile;
  const double sublanes = native.tiled ? static_cast<double>(native.sublanes) : 1;
  double rows = 1;
  for (const int loop : space_->matrix->rows) {
    const double extent = static_cast<double>(tile[loop]);
    const bool in_sublanes = native.tiled && space_->loops[loop].granule == native.sublanes;
    rows *= in_sublanes ? round_up(extent, sublanes) : extent;
  }
  return round_up(rows, sublanes);
}

double ComputeModel::matrix_cycles(const LoopSizes& tile) const {
  if (!has_matrix_work()) return 0;
  const MatrixLoops& loops = *space_->matrix;
  const hwdesc::MatrixUnit& unit = device_->matrix;
  const double array_rows = static_cast<double>(unit.rows);
  const double array_columns = static_cast<double>(unit.columns);
  const double contraction = product(tile, loops.contraction);
  double columns = product(tile, loops.columns);
  double matrices = product(tile, loops.batch);
  if (loops.groups > 1) {  // several small groups share a block, each on its own diagonal part
    const double per_group = columns_per_group(*space_);
    const double in_tile = std::max(columns / per_group, 1.0);
    const double share = std::max(
        std::min(std::floor(array_rows / contraction), std::floor(array_columns / per_group)), 1.0);
    matrices *= ceil_ratio(in_tile, share);
    columns = std::min(columns, per_group);
  }
  // Every output meets only the kernel positions that fall on real input between the holes.
  const double met =
      std::max(product(tile, loops.positions) / static_cast<double>(loops.dilation), 1.0);
  const double positions = packed_positions(met, contraction, array_rows);
  const double blocks = matrices * positions * ceil_ratio(contraction, array_rows) *
                        ceil_ratio(columns, array_columns);
  const double push = pushed_rows(tile) / unit.rows_per_cycle * passes_;
  const double load = unit.weight_load.value;
  const double per_block = unit.weight_load_hidden ? std::max(push, load) : push + load;
  const double count = unit.count;
  const double rounds = std::floor(blocks / count);
  const double rest = blocks - rounds * count;
  const double last = rest > 0 ? std::max(push * rest / count, load) : 0;
  return (rounds * per_block + last) / unit.efficiency + load + unit.fill.value;
}

double ComputeModel::padded_elements(std::size_t group, const Extents& extents) const {
  const double lanes = static_cast<double>(device_->vector.lanes);
  const double sublanes = static_cast<double>(device_->vector.sublanes);
  if (device_->native_tile.tiled) return tiled_elements(group, extents, sublanes);
  double flat = 1;  // elements go to lanes in memory order
  for (int d = 0; d < padding_[group].rank; ++d) flat *= static_cast<double>(extents[d]);
  return round_up(flat, lanes * sublanes);
}

double ComputeModel::tiled_elements(std::size_t group, const Extents& extents,
                                    double sublanes) const {
  const Padding& padding = padding_[group];
  double elements = 1;
  for (int d = 0; d < padding.rank; ++d) {
    double extent = static_cast<double>(extents[d]);
    if (d == padding.minor) extent = round_up(extent, static_cast<double>(device_->vector.lanes));
    if (d == padding.second) extent = round_up(extent, sublanes);
    elements *= extent;
  }
  return elements;
}

UnitCycles ComputeModel::sum(const std::vector<ElementWork>& work, std::span<const Extents> extents,
                             std::span<const double> times) const {
  const hwdesc::VectorUnit& vector = device_->vector;
  const hwdesc::CrossLaneUnit& cross = device_->cross_lane;
  const double width = static_cast<double>(vector.lanes * vector.sublanes);
  UnitCycles cycles;
  double loads = 0;
  double stores = 0;
  for (std::size_t g = 0; g < work.size(); ++g) {
    const ElementWork& w = work[g];
    const double repeats = times.empty() ? 1 : times[g];
    const double elements = repeats * padded_elements(g, extents[g]);
    cycles.vector += w.vector * elements / (width * vector.alus * vector.efficiency);
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
    if (w.matrix_flops > 0 && device_->matrix.count > 0) {
      cycles.matrix += w.matrix_flops * elements /
                       (2.0 * device_->matrix.count * static_cast<double>(device_->matrix.rows) *
                        static_cast<double>(device_->matrix.columns));
    }
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

double ComputeModel::overlapped(const UnitCycles& cycles) const {
  double total = 0;
  for (const BoundMask together : co_issue_) {
    double longest = 0;
    for (const auto& [bound, of_unit] : kUnits) {
      if (has(together, bound)) longest = std::max(longest, cycles.*of_unit);
    }
    total += longest;
  }
  return std::max(total, cycles.on_chip);
}

}  // namespace tilecast::analytical

// Cycles the compute units of a core are busy with one tile.
//
// Matrix unit: a weight-stationary systolic array of R x C. Every R x C block of weights is loaded
// (R cycles, double-buffered) and `rows` operand rows are pushed through it, so one block costs
// max(rows, R) cycles; contraction and columns that do not fill a block waste it. An iteration
// fills and empties the array once: R to load the first block and R + C - 2 of skew (SCALE-Sim,
// Samajdar et al., ISPASS 2020, weight-stationary runtime 2R + C + rows - 2). Vector,
// transcendental and cross-lane units: operations over their rate, elements padded to the native
// tile. Rates come from hwdesc::Device; nothing here is fitted.
#pragma once

#include <vector>

#include "analytical/accounting.h"
#include "analytical/footprint.h"

namespace tilecast::analytical {

// Cycles per unit; `on_chip` is vector loads and stores.
struct UnitCycles {
  double matrix = 0, vector = 0, transcendental = 0, cross_lane = 0, on_chip = 0;

  [[nodiscard]] UnitCycles without(BoundMask removed) const;
};

struct Unit {
  Bound bound;
  double UnitCycles::*cycles;
};
inline constexpr Unit kUnits[] = {{Bound::kMatrix, &UnitCycles::matrix},
                                  {Bound::kVector, &UnitCycles::vector},
                                  {Bound::kTranscendental, &UnitCycles::transcendental},
                                  {Bound::kCrossLane, &UnitCycles::cross_lane},
                                  {Bound::kOnChip, &UnitCycles::on_chip}};

[[nodiscard]] double round_up(double value, double multiple);

// What an op of a group asks of the units, per element of the group.
struct ElementWork {
  double vector = 0, transcendental = 0, cross_lane = 0, cross_lane_reduce = 0, irregular = 0;
  double load_bytes = 0, store_bytes = 0;
  double matrix_flops = 0;  // matrix ops besides the anchor
};

// Adds the work of `op` besides the matrix unit to the groups it runs over. Elementwise ops are one
// vector operation (or the device's `op_cycles`). Transcendentals go to the transcendental unit,
// and where the device lists them in `op_cycles` also to the vector unit: range reduction and
// polynomial around the special-function result. Reductions are one operation per input element
// plus a cross-lane reduction when the minor dimension is reduced, and ops that move elements
// between lanes (transposes and reshapes of the minor dimension, gathers, sorts) go to the
// cross-lane unit.
void add_op_work(const ir::Kernel& kernel, ir::OpId op, const hwdesc::Device& device,
                 const Footprints& footprints, std::vector<ElementWork>& by_group);

class ComputeModel {
 public:
  // `times`: by op, how often it is computed; empty: every op once.
  ComputeModel(const ir::Kernel& kernel, const hwdesc::Device& device, const IterationSpace& space,
               const Footprints& footprints, std::span<const int> times = {});

  // False when the kernel has none, or the unit cannot take its element type: then the vector unit
  // does the multiply-adds.
  [[nodiscard]] bool has_matrix_work() const { return space_->matrix && passes_ > 0; }
  [[nodiscard]] double vector_matrix_cycles(const LoopSizes& tile) const;
  // Matrix work of one iteration of the anchor, fill included; 0 without matrix work.
  [[nodiscard]] double matrix_cycles(const LoopSizes& tile) const;
  // Everything before the anchor consumes a tile / after it has made one (all, without a matrix
  // op).
  // `times`: by group, how often (edge tiles as parts); empty: once.
  [[nodiscard]] UnitCycles prologue(std::span<const Extents> extents,
                                    std::span<const double> times = {}) const {
    return sum(before_, extents, times);
  }
  [[nodiscard]] UnitCycles epilogue(std::span<const Extents> extents,
                                    std::span<const double> times = {}) const {
    return sum(after_, extents, times);
  }
  // Adding one partial result to the accumulator.
  [[nodiscard]] UnitCycles accumulate(std::span<const Extents> extents) const;
  // Units that issue together overlap, others add up (Device::co_issue).
  [[nodiscard]] double overlapped(const UnitCycles& cycles) const;

  [[nodiscard]] double accumulator_bytes(std::span<const Extents> extents) const;

 private:
  [[nodiscard]] UnitCycles sum(const std::vector<ElementWork>& work,
                               std::span<const Extents> extents,
                               std::span<const double> times) const;
  [[nodiscard]] double pushed_rows(const LoopSizes& tile) const;
  [[nodiscard]] double padded_elements(std::size_t group, const Extents& extents) const;
  [[nodiscard]] double tiled_elements(std::size_t group, const Extents& extents,
                                      double sublanes) const;

  const hwdesc::Device* device_;
  const IterationSpace* space_;
  std::vector<ElementWork> before_, after_;  // by group
  struct Padding {
    int rank = 0;
    int minor = -1, second = -1;
  };
  std::vector<Padding> padding_;     // by group
  std::vector<BoundMask> co_issue_;  // units that issue together, one mask each
  int anchor_group_ = -1;
  double passes_ = 0;
};

}  // namespace tilecast::analytical

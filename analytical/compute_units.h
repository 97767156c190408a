// Cycles for which the compute units of a core are busy with one tile. Rates come from
// hwdesc::Device; nothing here is fitted.
//
// Matrix unit: a weight-stationary systolic array of R x C. Each R x C block of weights is loaded
// in `weight_load` cycles, behind the pushes of operand rows or, where both use one port, before
// them; contraction and columns that do not fill a block waste it. Types of half a pass or less put
// several elements in each array row. Either operand may be stationary, whichever takes less. A
// product fills and drains the array once: the first block's load, and R + C - 2 of skew
// (SCALE-Sim, Samajdar et al., ISPASS 2020). Other units: operations / rate, elements padded to the
// native tile. Types that no unit computes in
// (`op_cycles`: convert-f16) pass the vector unit when loaded, stored and pushed.
// A tile takes at least its longest chain of dependent operations (Kaufman et al., MLSys 2021,
// Appendix A); registers of a tile and several sums into one result are independent chains.
#pragma once

#include <vector>

#include "analytical/accounting.h"
#include "analytical/footprint.h"
#include "analytical/op_work.h"
#include "analytical/product_type.h"
#include "base/math.h"

namespace tilecast::analytical {

// Cycles per unit. `on_chip`: vector loads and stores; `conversion`: the part of `vector` that the
// matrix unit waits for.
struct UnitCycles {
  double matrix = 0, vector = 0, transcendental = 0, cross_lane = 0, on_chip = 0;
  double conversion = 0;

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

[[nodiscard]] inline double round_up(double value, double multiple) {
  return base::ceil(value / multiple) * multiple;
}

// Units that issue together, one mask each (Device::co_issue): they overlap, others add up.
[[nodiscard]] std::vector<BoundMask> co_issue_of(const hwdesc::Device& device);
[[nodiscard]] double overlapped(const UnitCycles& cycles, std::span<const BoundMask> co_issue);

class ComputeModel {
 public:
  // `times`: per op, how often it is computed; empty: every op once.
  ComputeModel(const ir::Kernel& kernel, const hwdesc::Device& device, const IterationSpace& space,
               const Footprints& footprints, std::span<const int> times = {});

  // Element type of the matrix work.
  [[nodiscard]] const ProductType& product_type() const { return type_; }
  // False without matrix work, or if the unit does not take its type: the vector unit does it then.
  [[nodiscard]] bool has_matrix_work() const { return space_->matrix && passes_ > 0; }
  [[nodiscard]] double vector_matrix_cycles(const LoopSizes& tile) const;
  // Cycles of the matrix work of one anchor iteration, fill included; 0 without matrix work.
  [[nodiscard]] double matrix_cycles(const LoopSizes& tile) const;
  // The part of matrix_cycles() that fills and drains the array; hidden if the next iteration needs
  // no fill.
  [[nodiscard]] double matrix_fill_cycles() const {
    return has_matrix_work() ? device_->matrix.weight_load.value + device_->matrix.fill.value : 0;
  }
  // Work before the anchor consumes a tile / after it has produced one (all work, without a matrix
  // op). `times`: repetitions per group (edge tiles as fractions); empty: once.
  [[nodiscard]] UnitCycles prologue(std::span<const Extents> extents,
                                    std::span<const double> times = {}) const {
    return sum(before_, extents, times);
  }
  [[nodiscard]] UnitCycles epilogue(std::span<const Extents> extents,
                                    std::span<const double> times = {}) const {
    return sum(after_, extents, times);
  }
  struct Loops {  // loops that the results depend on, one bit each; `anchor`: the two below
    std::uint32_t prologue = 0, epilogue = 0, anchor = 0;
  };
  [[nodiscard]] const Loops& loops() const { return loops_; }
  // Cycles to add one partial result to the accumulator.
  [[nodiscard]] UnitCycles accumulate(std::span<const Extents> extents) const;
  [[nodiscard]] double accumulator_bytes(std::span<const Extents> extents) const;
  // Latency of the longest dependence chain behind the anchor: no tile takes less.
  [[nodiscard]] double chain_cycles() const { return chain_; }
  [[nodiscard]] double overlapped(const UnitCycles& cycles) const {
    return analytical::overlapped(cycles, co_issue_);
  }

 private:
  void set_matrix(const ir::Kernel& kernel);
  void add_widening(const ir::Kernel& kernel, const Footprints& footprints,
                    std::vector<ElementWork>& work) const;
  void find_chain(const ir::Kernel& kernel, const Footprints& footprints,
                  const std::vector<bool>& prologue);
  [[nodiscard]] UnitCycles sum(const std::vector<GroupWork>& work, std::span<const Extents> extents,
                               std::span<const double> times) const;
  [[nodiscard]] double pushed(const LoopSizes& tile, const std::vector<int>& loops) const;
  [[nodiscard]] double block_cycles(double blocks, double pushed, double load, double shift) const;
  [[nodiscard]] double padded_elements(std::size_t group, const Extents& extents) const;
  [[nodiscard]] double tiled_elements(std::size_t group, const Extents& extents,
                                      std::int64_t sublanes) const;

  const hwdesc::Device* device_;
  const IterationSpace* space_;
  ProductType type_;
  std::vector<GroupWork> before_, after_;
  Loops loops_;
  struct Padding {
    int rank = 0, minor = -1, second = -1;
  };
  std::vector<Padding> padding_;  // per group
  std::vector<BoundMask> co_issue_;
  int anchor_group_ = -1;
  double chain_ = 0;
  double passes_ = 0;                 // passes at the base rate per product of `type_`
  std::array<double, 2> shifting_{};  // per operand: cycles until a block of it is in place
  double push_ = 0;                   // cycles per row, conversion included
  double array_rows_ = 1;             // rows of the array, narrow elements packed
};

}  // namespace tilecast::analytical

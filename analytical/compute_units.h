// Cycles the compute units of a core are busy with one tile.
//
// Matrix unit: a weight-stationary systolic array of R x C. Every R x C block of weights is loaded
// in `weight_load` cycles behind the pushes. Where both take one port, it takes as many cycles
// before them, and moves into place one word per lane and cycle behind the pushes of the block
// before (seen on TPU v3 tiles of at most 96 rows, n = 198). `rows` operand rows are pushed through
// it; contraction and columns that do not fill a block waste it. Element types of half a pass or
// less fill an array's row with two or more. Either operand may be the one that stands still: the
// compiler takes the left one when its rows waste less of a block than the other's columns. A
// product fills and empties the array once: the first block's load, and R + C - 2 of skew
// (SCALE-Sim, Samajdar et al., ISPASS 2020, weight-stationary runtime 2R + C + rows - 2).
// Vector, transcendental and cross-lane units: operations over their rate, elements padded to the
// native tile. Element types that no unit computes in (`op_cycles` of the vector unit: convert-f16)
// pass the vector unit on their way in and out, and once more in every push through the matrix
// unit, which waits for them.
// Critical path: a tile takes no less than its longest chain of dependent operations, each at the
// latency of its unit, from a load of the scratchpad to the last result (Kaufman et al., MLSys
// 2021, Appendix A: the computation cost needs the critical path of the instruction schedule):
//   cycles = max(what the busiest unit takes, sum of the chain's latencies).
// Registers of one tile and sums of several into one are independent chains: the compiler unrolls;
// conversions of types that no unit computes in take the parts of an element apart side by side.
// Rates come from hwdesc::Device; nothing here is fitted.
#pragma once

#include <vector>

#include "analytical/accounting.h"
#include "analytical/footprint.h"
#include "analytical/product_type.h"
#include "base/math.h"

namespace tilecast::analytical {

// Cycles per unit; `on_chip` is vector loads and stores. `conversion` is the part of `vector` that
// the matrix unit waits for.
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

// What an op of a group asks of the units, per element of the group.
struct ElementWork {
  double vector = 0, transcendental = 0, cross_lane = 0, cross_lane_reduce = 0, irregular = 0;
  double load_bytes = 0, store_bytes = 0;
  double matrix = 0;      // cycles of products besides the anchor
  double conversion = 0;  // vector operations to or from an element type that no unit takes

  friend bool operator==(const ElementWork&, const ElementWork&) = default;
};

struct GroupWork : ElementWork {
  std::size_t group = 0;
};

// Vector operations per element to widen or narrow a type that the device does not compute in:
// "convert-f16" in its `op_cycles`; f8 and s4 stand for their variants. 0 for other types.
[[nodiscard]] double conversion_cost(const ir::Shape& shape, const hwdesc::Device& device);

// Narrow elements move packed in the words of a lane.
[[nodiscard]] double words_per_element(const ir::Shape& shape, const hwdesc::Device& device);

// Steps of a bitonic network over rows of n keys: stage k of log2 n compares over k distances, of
// which those within a register (of so many elements) move lanes.
struct SortSteps {
  double all = 1, in_register = 1;
};
// Of a sort or topk of `keys`.
[[nodiscard]] SortSteps sort_steps(const ir::Op& op, const ir::Shape& keys,
                                   double register_elements);

// Adds the work of `op` besides the matrix unit to the groups it runs over. Elementwise ops are one
// vector operation (or the device's `op_cycles`). Transcendentals go to the transcendental unit,
// and where the device lists them in `op_cycles` also to the vector unit: range reduction and
// polynomial around the special-function result. Reductions are one operation per input element
// plus a cross-lane reduction of the minor dimension; ops that move elements between lanes
// (transposes and reshapes of it, gathers, sorts) go there too, narrow elements packed in words.
void add_op_work(const ir::Kernel& kernel, ir::OpId op, const hwdesc::Device& device,
                 const Footprints& footprints, std::vector<ElementWork>& by_group);

class ComputeModel {
 public:
  // `times`: by op, how often it is computed; empty: every op once.
  ComputeModel(const ir::Kernel& kernel, const hwdesc::Device& device, const IterationSpace& space,
               const Footprints& footprints, std::span<const int> times = {});

  // Of the matrix work of the space.
  [[nodiscard]] const ProductType& product_type() const { return type_; }
  // False without any, or where the unit does not take its type: the vector unit does it then.
  [[nodiscard]] bool has_matrix_work() const { return space_->matrix && passes_ > 0; }
  [[nodiscard]] double vector_matrix_cycles(const LoopSizes& tile) const;
  // Matrix work of one iteration of the anchor, fill included; 0 without matrix work.
  [[nodiscard]] double matrix_cycles(const LoopSizes& tile) const;
  // The part of it that fills and empties the array: hidden by a next iteration that needs none.
  [[nodiscard]] double matrix_fill_cycles() const {
    return has_matrix_work() ? device_->matrix.weight_load.value + device_->matrix.fill.value : 0;
  }
  // Everything before the anchor consumes a tile / after it has made one (all, without a matrix
  // op). `times`: by group, how often (edge tiles as parts); empty: once.
  [[nodiscard]] UnitCycles prologue(std::span<const Extents> extents,
                                    std::span<const double> times = {}) const {
    return sum(before_, extents, times);
  }
  [[nodiscard]] UnitCycles epilogue(std::span<const Extents> extents,
                                    std::span<const double> times = {}) const {
    return sum(after_, extents, times);
  }
  struct Loops {  // that these depend on, a bit each; `anchor`: the two below
    std::uint32_t prologue = 0, epilogue = 0, anchor = 0;
  };
  [[nodiscard]] const Loops& loops() const { return loops_; }
  // Adding one partial result to the accumulator.
  [[nodiscard]] UnitCycles accumulate(std::span<const Extents> extents) const;
  [[nodiscard]] double accumulator_bytes(std::span<const Extents> extents) const;
  // The longest chain of dependent operations behind the anchor: no tile takes less.
  [[nodiscard]] double chain_cycles() const { return chain_; }
  // Units that issue together overlap, others add up (Device::co_issue).
  [[nodiscard]] double overlapped(const UnitCycles& cycles) const;

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
  std::vector<Padding> padding_;     // by group
  std::vector<BoundMask> co_issue_;  // units that issue together, one mask each
  int anchor_group_ = -1;
  double chain_ = 0;
  double passes_ = 0;                 // of the base rate for one product of `type_`
  std::array<double, 2> shifting_{};  // by operand: cycles until a block of it stands in place
  double push_ = 0;                   // cycles of a row, widened where it has to be
  double array_rows_ = 1;             // with narrow elements packed
};

}  // namespace tilecast::analytical

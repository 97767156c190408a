// Builds the kernel that a compiler would create for one operator of a table: ops with device
// layouts, and their work as counted by XLA's HloCostAnalysis (a multiply-add is 2 FLOPs; bytes are
// parameters plus outputs, unpadded).
//
//   KernelSketch sketch("gelu", rules);
//   OpId x = sketch.parameter(DType::kF32, {1024, 1024});
//   Kernel kernel = sketch.build({sketch.elementwise(Opcode::kTanh, {x})});
//
// Throws Error for arrays above kMaxElements. Not thread-safe; one sketch per kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "ir/layout_assignment.h"

namespace tilecast::ir {

class KernelSketch {
 public:
  // Far larger than any accelerator's memory, but small enough that byte and FLOP counts do not
  // overflow.
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 46;

  // A fusion, unless it is launched as one op.
  KernelSketch(std::string name, const LayoutRules& rules);
  KernelSketch(std::string name, Opcode opcode, const LayoutRules& rules);

  OpId parameter(DType dtype, Dims dims);
  // As above, but always row-major instead of the layout that pads least.
  OpId row_major_parameter(DType dtype, Dims dims);
  // An elementwise op. The result type is that of the first operand unless given.
  OpId elementwise(Opcode opcode, std::vector<OpId> operands,
                   std::optional<DType> result = std::nullopt);
  OpId copy(OpId operand);
  // A constant broadcast to the shape and type of `like`.
  OpId constant_like(OpId like, std::string value);
  // Broadcasts the operand to the shape of `like`: dimension i becomes dimension `dimensions[i]`.
  OpId broadcast_like(OpId operand, OpId like, Dims dimensions);
  // Sum or maximum over `dimension`.
  OpId reduce(OpId operand, Opcode combiner, std::int64_t dimension);
  OpId transpose(OpId operand);  // swaps the two last dimensions, row-major
  // `precision`: HLO's operand_precision for both operands; "" is the default.
  OpId dot(OpId lhs, OpId rhs, DotDims dims, Dims result, DType dtype,
           const std::string& precision = "");
  // Rows of `lhs` in groups, each times its matrix of `rhs` (groups x contraction x columns).
  OpId ragged_dot(OpId lhs, OpId rhs, std::vector<std::int64_t> group_rows, DType dtype);
  // One number all over.
  OpId filled(DType dtype, Dims dims);
  // The operands must be parameters. They and the result get the layouts of convolution_layouts().
  OpId convolution(OpId input, OpId kernel, ConvAttrs attrs, Dims result, DType dtype);
  OpId all_reduce(OpId operand, std::int64_t devices) {
    return collective(Opcode::kAllReduce, operand, shape(operand).dims, devices);
  }
  OpId collective(Opcode opcode, OpId operand, Dims result, std::int64_t devices);

  // The thread blocks of a product on GPUs, rows x columns, by which one kernel covers it.
  void set_block(const Dims& block);

  [[nodiscard]] const Shape& shape(OpId id) const { return shapes_[id.index()]; }
  [[nodiscard]] Kernel build(std::vector<OpId> outputs);

 private:
  Shape array(DType dtype, Dims dims) const;
  OpId add(Op op);
  OpId parameter(Shape shape);
  void set_layout(OpId id, Layout layout);

  KernelBuilder builder_;
  LayoutRules rules_;
  std::vector<Shape> shapes_;
  WorkCounts work_;
};

}  // namespace tilecast::ir

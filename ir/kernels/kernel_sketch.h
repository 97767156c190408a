// Builds the kernel a compiler would make for one operator of a table: ops with device layouts, and
// the work they do, counted as XLA's HloCostAnalysis counts it (a multiply-add is 2 FLOPs; bytes
// are parameters plus outputs, unpadded).
//
//   KernelSketch sketch("gelu", Opcode::kFusion, rules);
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
  // Far above any accelerator's memory; keeps byte and FLOP counts away from overflow.
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 46;

  KernelSketch(std::string name, Opcode opcode, const LayoutRules& rules);

  OpId parameter(DType dtype, Dims dims);
  // As above, last dimension fastest, whatever pads least.
  OpId row_major_parameter(DType dtype, Dims dims);
  // One-to-one ops; the result has the first operand's type unless given.
  OpId elementwise(Opcode opcode, std::vector<OpId> operands,
                   std::optional<DType> result = std::nullopt);
  OpId copy(OpId operand);
  // A constant spread over the shape of `like`, in its type.
  OpId constant_like(OpId like, std::string value);
  // Operand dimension i becomes dimension `dimensions[i]` of the shape of `like`.
  OpId broadcast_like(OpId operand, OpId like, Dims dimensions);
  // Sum or maximum over `dimension`.
  OpId reduce(OpId operand, Opcode combiner, std::int64_t dimension);
  OpId transpose(OpId operand);  // swaps the two last dimensions, row-major
  // `precision`: of both operands, as HLO's operand_precision; "" is the default.
  OpId dot(OpId lhs, OpId rhs, DotDims dims, Dims result, DType dtype,
           const std::string& precision = "");
  // Its operands, parameters, and its result get the layouts a convolution asks for.
  OpId convolution(OpId input, OpId kernel, ConvAttrs attrs, Dims result, DType dtype);
  OpId all_reduce(OpId operand, std::int64_t devices);

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

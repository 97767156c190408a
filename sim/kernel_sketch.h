// Builds the kernel a compiler would make for one operator of a table: ops with device layouts, and
// the work they do, counted as XLA's HloCostAnalysis counts it (a multiply-add is 2 FLOPs; bytes
// are parameters plus outputs, unpadded).
//
//   KernelSketch sketch("gelu", ir::Opcode::kFusion, rules);
//   ir::OpId x = sketch.parameter(ir::DType::kF32, {1024, 1024});
//   ir::Kernel kernel = sketch.build({sketch.elementwise(ir::Opcode::kTanh, {x})});
//
// Throws Error for arrays above kMaxElements. Not thread-safe; one sketch per kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "ir/layout_assignment.h"

namespace tilecast::sim {

class KernelSketch {
 public:
  // Far above any accelerator's memory; keeps byte and FLOP counts away from overflow.
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 46;

  KernelSketch(std::string name, ir::Opcode opcode, const ir::LayoutRules& rules);

  ir::OpId parameter(ir::DType dtype, ir::Dims dims);
  // As above, last dimension fastest, whatever pads least.
  ir::OpId row_major_parameter(ir::DType dtype, ir::Dims dims);
  // One-to-one ops; the result has the first operand's type unless given.
  ir::OpId elementwise(ir::Opcode opcode, std::vector<ir::OpId> operands,
                       std::optional<ir::DType> result = std::nullopt);
  ir::OpId copy(ir::OpId operand);
  // A constant spread over the shape of `like`, in its type.
  ir::OpId constant_like(ir::OpId like, std::string value);
  // Operand dimension i becomes dimension `dimensions[i]` of the shape of `like`.
  ir::OpId broadcast_like(ir::OpId operand, ir::OpId like, ir::Dims dimensions);
  // Sum or maximum over `dimension`.
  ir::OpId reduce(ir::OpId operand, ir::Opcode combiner, std::int64_t dimension);
  ir::OpId transpose(ir::OpId operand);  // swaps the two last dimensions, row-major
  ir::OpId dot(ir::OpId lhs, ir::OpId rhs, ir::DotDims dims, ir::Dims result, ir::DType dtype);
  ir::OpId convolution(ir::OpId input, ir::OpId kernel, ir::ConvAttrs attrs, ir::Dims result,
                       ir::DType dtype);
  ir::OpId all_reduce(ir::OpId operand, std::int64_t devices);

  [[nodiscard]] const ir::Shape& shape(ir::OpId id) const { return shapes_[id.index()]; }
  [[nodiscard]] ir::Kernel build(std::vector<ir::OpId> outputs);

 private:
  ir::Shape array(ir::DType dtype, ir::Dims dims) const;
  ir::OpId add(ir::Op op);
  ir::OpId parameter(ir::Shape shape);

  ir::KernelBuilder builder_;
  ir::LayoutRules rules_;
  std::vector<ir::Shape> shapes_;
  ir::WorkCounts work_;
};

}  // namespace tilecast::sim

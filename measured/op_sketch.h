// A KernelSketch with the arithmetic of operators and training steps as methods.
//
//   OpSketch sketch("softmax", rules);
//   const OpId shares = sketch.softmax(sketch.parameter(DType::kF32, {64, 128}));
#pragma once

#include "ir/kernels/kernel_sketch.h"

namespace tilecast::measured {

class OpSketch : public ir::KernelSketch {
 public:
  using OpId = ir::OpId;
  using Opcode = ir::Opcode;
  using KernelSketch::KernelSketch;

  OpId plus(OpId a, OpId b) { return elementwise(Opcode::kAdd, {a, b}); }
  OpId minus(OpId a, OpId b) { return elementwise(Opcode::kSubtract, {a, b}); }
  OpId times(OpId a, OpId b) { return elementwise(Opcode::kMultiply, {a, b}); }
  OpId inverse_root(OpId x) { return elementwise(Opcode::kRsqrt, {x}); }
  OpId sum(OpId x, std::int64_t dimension) { return reduce(x, Opcode::kAdd, dimension); }
  OpId to(OpId x, ir::DType dtype) {
    return shape(x).dtype == dtype ? x : elementwise(Opcode::kConvert, {x}, dtype);
  }
  // Over the columns of a matrix.
  OpId softmax(OpId x) {
    const OpId top = broadcast_like(reduce(x, Opcode::kMaximum, 1), x, {0});
    const OpId powers = elementwise(Opcode::kExp, {minus(x, top)});
    return elementwise(Opcode::kDivide, {powers, broadcast_like(sum(powers, 1), powers, {0})});
  }
};

}  // namespace tilecast::measured

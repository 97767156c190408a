// In which element type, and in how many products of it, a machine computes a dot or convolution.
//
// A matrix unit takes the types in its `passes`. Others are widened to the next type that holds
// them, as XLA does before it calls the unit (float normalisation, its GEMM rewriter): f4 -> f8 ->
// f16 or bf16 -> f32 (processors and GPUs try f16 first, TPUs bf16), s2 -> s4 -> s8 -> bf16 or f16
// -> f32. Operands of two types meet in one that holds both. GPU libraries have no product of two
// f8e5m2 (cuBLASLt): f16. A complex product is four real ones. f32 products of a unit of short
// operands are sums of products of their parts: HIGH 3, HIGHEST 6, `dot_..._x3` as many as it says
// (Henry, Tang, Heinecke, ARITH 2019: bf16x3 has 6 significant products). On GPUs DEFAULT and HIGH
// are the unit's f32 (TF32), HIGHEST plain lanes. Processors multiply f32 in full at any precision.
#pragma once

#include <string>

#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

struct ProductType {
  ir::DType dtype = ir::DType::kInvalid;  // what the unit takes; kInvalid: nothing, lanes multiply
  double products = 1;                    // of `dtype`, for each product of the program
  std::string note;                       // where it is not what the program says; else empty

  [[nodiscard]] bool on_unit() const { return dtype != ir::DType::kInvalid; }
};

// `op`: a dot, scaled-dot, ragged-dot or convolution of `kernel`.
[[nodiscard]] ProductType product_type(const ir::Kernel& kernel, const ir::Op& op,
                                       const hwdesc::Device& device);

// Of products in full precision: f32 as HIGHEST says, c64 as four of them.
[[nodiscard]] ProductType full_product_type(ir::DType dtype, const hwdesc::Device& device);

// Of a call with costs of its own: the fastest of the types of its operands; bf16 where none says.
[[nodiscard]] ProductType call_product_type(const ir::Kernel& kernel, const hwdesc::Device& device);

// Operations that one lane does at a time in a multiply-add: 2 on GPUs and processors.
[[nodiscard]] double multiply_add_operations(const hwdesc::Device& device);

// FLOP/s of such products on the whole device: the unit's, or, where it takes none, those of the
// lanes. 0: there are none.
[[nodiscard]] FlopsPerSecond product_peak(const ProductType& type, const hwdesc::Device& device);

}  // namespace tilecast::analytical

// The element type, and the number of products in it, with which a machine computes a dot or
// convolution (docs/model.md, Types of products).
//
// A matrix unit takes the types in its `passes`. Others are widened to the next type that contains
// them, as XLA does before it uses the unit: f4 -> f8 -> f16 or bf16 -> f32, s2 -> s4 -> s8 -> bf16
// or f16 -> f32. f32 products on a unit for short operands are sums of products of their parts
// (Henry, Tang, Heinecke, ARITH 2019). GPU libraries have no product of two f8e5m2: f16.
#pragma once

#include <string>

#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

struct ProductType {
  ir::DType dtype = ir::DType::kInvalid;  // type given to the unit; kInvalid: the lanes multiply
  double products = 1;                    // products of `dtype` per product of the program
  std::string note;                       // explains a type other than the program's; else empty

  [[nodiscard]] bool on_unit() const { return dtype != ir::DType::kInvalid; }
};

// `op`: a dot, scaled-dot, ragged-dot or convolution of `kernel`.
[[nodiscard]] ProductType product_type(const ir::Kernel& kernel, const ir::Op& op,
                                       const hwdesc::Device& device);

// Type for products in full precision: f32 as with HIGHEST, c64 as four of them.
[[nodiscard]] ProductType full_product_type(ir::DType dtype, const hwdesc::Device& device);

// Type for a custom call that states its cost: the fastest among its operands' types; bf16 if none
// applies.
[[nodiscard]] ProductType call_product_type(const ir::Kernel& kernel, const hwdesc::Device& device);

// Operations of a multiply-add that a lane does at once: 2 on GPUs and processors, else 1.
[[nodiscard]] double multiply_add_operations(const hwdesc::Device& device);

// FLOP/s of such products on the whole device: the unit's, or the lanes' if the unit takes none. 0
// if there are neither.
[[nodiscard]] FlopsPerSecond product_peak(const ProductType& type, const hwdesc::Device& device);
// Whether products of this type run at the rate of the vector lanes, not faster.
[[nodiscard]] bool multiplies_on_lanes(const hwdesc::Device& device, std::string_view dtype);

}  // namespace tilecast::analytical

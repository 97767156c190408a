// Maps HLO element types to C types in generated code.
//
// An element in memory has a storage type (bf16 and f16: uint16_t, pred: uint8_t). A value in an
// expression has a value type (bf16 and f16: float, already rounded; pred: _Bool). Products and
// sums are computed in an accumulator type. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "ir/dtype.h"

namespace tilecast::host {

// Whether the type is supported: pred, 8 to 64 bit integers, bf16, f16, f32, f64.
[[nodiscard]] bool is_generated(ir::DType dtype);

[[nodiscard]] std::string_view storage_type(ir::DType dtype);
[[nodiscard]] std::string_view value_type(ir::DType dtype);
// Accumulator of reductions: the value type. Of matrix products: float, double, int32_t or int64_t.
[[nodiscard]] std::string_view accumulator_type(ir::DType dtype);
[[nodiscard]] std::string_view product_type(ir::DType dtype);
[[nodiscard]] int bytes_of(std::string_view c_type);

[[nodiscard]] inline bool is_half(ir::DType dtype) {
  return dtype == ir::DType::kBF16 || dtype == ir::DType::kF16;
}

// Converts the storage at `place` to a value expression, and a value to its storage form.
[[nodiscard]] std::string loaded(ir::DType dtype, const std::string& place);
[[nodiscard]] std::string stored(ir::DType dtype, const std::string& value);
// Rounds `value`, an exact result, to the type.
[[nodiscard]] std::string rounded(ir::DType dtype, const std::string& value);
[[nodiscard]] std::string converted(ir::DType from, ir::DType to, const std::string& value);

// Type suffix of "tc_" functions: f for float, d for double, i32, u8 ...
[[nodiscard]] std::string suffix(ir::DType dtype);

}  // namespace tilecast::host

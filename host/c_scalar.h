// Writes one element of an elementwise op as a C expression. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/dtype.h"
#include "ir/kernel.h"

namespace tilecast::host {

// `operands` are value expressions of these types; the result is a value expression
// rounded to the op's type. nullopt if the op is not supported.
[[nodiscard]] std::optional<std::string> elementwise_text(const ir::Op& op,
                                                          std::span<const ir::DType> types,
                                                          std::span<const std::string> operands);
// `a` and `b` combined by a reduction's op, not rounded.
[[nodiscard]] std::optional<std::string> combined_text(ir::Opcode combiner, ir::DType dtype,
                                                       const std::string& a, const std::string& b);
// The combiner's identity element.
[[nodiscard]] std::optional<std::string> neutral_text(ir::Opcode combiner, ir::DType dtype);
// The operator between the two operands, on numbers and on GCC's vectors; 0 if C has none.
[[nodiscard]] char infix_operator(ir::Opcode opcode);
// Rough cost per element in units of an addition; 0 for ops that only move data.
[[nodiscard]] int element_cost(const ir::Op& op);

// A C literal of the type; the number is rounded to the type.
[[nodiscard]] std::string number_text(ir::DType dtype, double value);
[[nodiscard]] std::string number_text(ir::DType dtype, std::int64_t value);

// Maps HLO element types to C types in generated code.
//
// An element in memory has a storage type (bf16 and f16: uint16_t, pred: uint8_t). A value in an
// expression has a value type (bf16 and f16: float, already rounded; pred: _Bool). Products and
// sums are computed in an accumulator type. Pure functions; thread-safe.

// Whether the type is supported: pred, 8 to 64 bit integers, bf16, f16, f32, f64.
[[nodiscard]] bool is_generated(ir::DType dtype);

[[nodiscard]] std::string_view storage_type(ir::DType dtype);
[[nodiscard]] std::string_view value_type(ir::DType dtype);
// Accumulator of reductions: the value type. Of matrix products: float, double, int32_t or int64_t.
[[nodiscard]] std::string_view accumulator_type(ir::DType dtype);
[[nodiscard]] std::string_view product_type(ir::DType dtype);
// Suffix of the loops of products with this result: "f", "d", "i32" or "i64".
[[nodiscard]] std::string product_suffix(ir::DType dtype);
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

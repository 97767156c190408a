// Writes one element of an elementwise op as a C expression. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "ir/kernel.h"

namespace tilecast::host {

// `operands` are value expressions (c_types.h) of these types; the result is a value expression
// rounded to the op's type. nullopt if the op is not supported.
[[nodiscard]] std::optional<std::string> elementwise_text(const ir::Op& op,
                                                          std::span<const ir::DType> types,
                                                          std::span<const std::string> operands);
// `a` and `b` combined by a reduction's op, not rounded.
[[nodiscard]] std::optional<std::string> combined_text(ir::Opcode combiner, ir::DType dtype,
                                                       const std::string& a, const std::string& b);
// The combiner's identity element.
[[nodiscard]] std::optional<std::string> neutral_text(ir::Opcode combiner, ir::DType dtype);
// Rough cost per element in units of an addition; 0 for ops that only move data.
[[nodiscard]] int element_cost(const ir::Op& op);

// A C literal of the type; the number is rounded to the type.
[[nodiscard]] std::string number_text(ir::DType dtype, double value);
[[nodiscard]] std::string number_text(ir::DType dtype, std::int64_t value);

}  // namespace tilecast::host

// One element of an elementwise op as a C expression of its operands' values.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "ir/kernel.h"

namespace tilecast::host {

// `operands` are values (c_types.h) of operands with these types; the result is a value of `op`,
// rounded to its type. Nothing: not generated.
[[nodiscard]] std::optional<std::string> elementwise_text(const ir::Op& op,
                                                          std::span<const ir::DType> types,
                                                          std::span<const std::string> operands);
// `a` and `b` combined by a reduction's op, not rounded.
[[nodiscard]] std::optional<std::string> combined_text(ir::Opcode combiner, ir::DType dtype,
                                                       const std::string& a, const std::string& b);
// What changes nothing when combined with it.
[[nodiscard]] std::optional<std::string> neutral_text(ir::Opcode combiner, ir::DType dtype);
// Rough cost of an element in additions: 0 for what moves data only.
[[nodiscard]] int element_cost(const ir::Op& op);

// A C constant of the type; the number is rounded to it.
[[nodiscard]] std::string number_text(ir::DType dtype, double value);
[[nodiscard]] std::string number_text(ir::DType dtype, std::int64_t value);

}  // namespace tilecast::host

// MLIR text of types, strings and lists, for print_*.cpp. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir::stablehlo {

// tensor<2x3xf32>, tensor<?xi8, #stablehlo.bounds<4>>, tuple<...>, !stablehlo.token.
[[nodiscard]] std::string mlir_type(const Shape& shape);
// If `apart`, the types of a tuple's leaves; else the type itself.
[[nodiscard]] std::vector<std::string> mlir_types(const Shape& shape, bool apart);
[[nodiscard]] bool is_value(const Shape& shape);  // an array or a token
// Whether the value can be split into separate values: an array or token, or a tuple of two or
// more.
[[nodiscard]] bool splits(const Shape& shape);
[[nodiscard]] std::string mlir_string(std::string_view text);  // with its quotes
[[nodiscard]] std::string int_list(const Dims& values);        // [0, 1]
[[nodiscard]] std::string int_array(const Dims& values);       // array<i64: 0, 1>

// A number from HLO text in MLIR syntax; empty if it cannot be expressed.
[[nodiscard]] std::string mlir_number(std::string_view number, DType dtype);
// The content of `dense<...>` for an array literal; nullopt if MLIR cannot express it.
[[nodiscard]] std::optional<std::string> dense_text(const Literal& literal, const Shape& shape);

}  // namespace tilecast::ir::stablehlo

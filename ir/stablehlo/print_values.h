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
// Those of the leaves of a tuple that is taken apart, else the one type.
[[nodiscard]] std::vector<std::string> mlir_types(const Shape& shape, bool apart);
[[nodiscard]] bool is_value(const Shape& shape);  // an array or a token
// Whether StableHLO can have the value as values: an array, or a tuple of two and more of them.
[[nodiscard]] bool splits(const Shape& shape);
[[nodiscard]] std::string mlir_string(std::string_view text);  // with its quotes
[[nodiscard]] std::string int_list(const Dims& values);        // [0, 1]
[[nodiscard]] std::string int_array(const Dims& values);       // array<i64: 0, 1>

// One number of HLO text in MLIR's spelling; empty where it has none.
[[nodiscard]] std::string mlir_number(std::string_view number, DType dtype);
// What `dense<...>` holds for an array's literal; nothing where MLIR has no spelling for it.
[[nodiscard]] std::optional<std::string> dense_text(const Literal& literal, const Shape& shape);

}  // namespace tilecast::ir::stablehlo

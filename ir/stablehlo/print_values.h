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
// Whether the type says all of the shape: arrays are row-major, nothing is opaque or a buffer.
[[nodiscard]] bool is_plain(const Shape& shape);
[[nodiscard]] std::string mlir_string(std::string_view text);  // with its quotes
[[nodiscard]] std::string int_list(const Dims& values);        // [0, 1]
[[nodiscard]] std::string int_array(const Dims& values);       // array<i64: 0, 1>

// `dense<...>` without its type, of an array's literal that is short and finite; else nothing.
[[nodiscard]] std::optional<std::string> dense_text(const Literal& literal, const Shape& shape);

// `, key=value` attributes of HLO text, each `key=value`; brackets and strings are kept whole.
[[nodiscard]] std::vector<std::string_view> split_attributes(std::string_view text);

}  // namespace tilecast::ir::stablehlo

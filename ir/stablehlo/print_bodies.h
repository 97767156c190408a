// MLIR text of types, strings and lists, and of the bodies of StableHLO ops. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ops/op_row.h"

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

using Text = std::optional<std::string>;

struct OpSite {
  const Computation& computation;
  const Instruction& instruction;
  std::string operands;  // `%x, %y`

  [[nodiscard]] const Shape& operand_shape(std::size_t i) const {
    return computation.at(instruction.operands[i]).shape;
  }
};

// For the table of ops (ir/ops/op_table.cpp); see OpForm::body.
[[nodiscard]] Text reduce_window_body(const OpSite& site);
[[nodiscard]] Text select_and_scatter_body(const OpSite& site);
[[nodiscard]] Text convolution_body(const OpSite& site);
[[nodiscard]] Text gather_body(const OpSite& site);
[[nodiscard]] Text scatter_body(const OpSite& site);
[[nodiscard]] Text all_gather_body(const OpSite& site);
[[nodiscard]] Text all_to_all_body(const OpSite& site);
[[nodiscard]] Text all_reduce_body(const OpSite& site);
[[nodiscard]] Text reduce_scatter_body(const OpSite& site);
[[nodiscard]] Text collective_permute_body(const OpSite& site);
[[nodiscard]] Text plain_body(const OpSite& site);
[[nodiscard]] Text same_sizes_body(const OpSite& site);
[[nodiscard]] Text dims_body(const OpSite& site);
[[nodiscard]] Text concatenate_body(const OpSite& site);
[[nodiscard]] Text iota_body(const OpSite& site);
[[nodiscard]] Text tuple_element_body(const OpSite& site);
[[nodiscard]] Text constant_body(const OpSite& site);
[[nodiscard]] Text slice_body(const OpSite& site);
[[nodiscard]] Text pad_body(const OpSite& site);
[[nodiscard]] Text dynamic_slice_body(const OpSite& site);
[[nodiscard]] Text compare_body(const OpSite& site);
[[nodiscard]] Text dot_general_body(const OpSite& site);
[[nodiscard]] Text reduce_body(const OpSite& site);
[[nodiscard]] Text sort_body(const OpSite& site);
[[nodiscard]] Text dimension_body(const OpSite& site);
[[nodiscard]] Text fft_body(const OpSite& site);
[[nodiscard]] Text cholesky_body(const OpSite& site);
[[nodiscard]] Text triangular_solve_body(const OpSite& site);
[[nodiscard]] Text custom_call_body(const OpSite& site);
[[nodiscard]] Text no_attributes_body(const OpSite& site);
[[nodiscard]] Text reduce_precision_body(const OpSite& site);
[[nodiscard]] Text batch_norm_body(const OpSite& site);
[[nodiscard]] Text rng_bits_body(const OpSite& site);
[[nodiscard]] Text top_k_body(const OpSite& site);

}  // namespace tilecast::ir::stablehlo

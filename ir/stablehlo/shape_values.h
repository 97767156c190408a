// Part of the implementation of ir/stablehlo/stablehlo.h: constant folding of computed sizes.
#pragma once

#include "ir/mlir/mlir_parser.h"
#include "ir/stablehlo/lowering.h"

namespace tilecast::ir::stablehlo {

// Literals of up to this many elements keep their values as numbers too, as in the HLO text parser.
inline constexpr std::size_t kMostElements = 64;

// Evaluates `op` if all its results are small integer tensors that follow from known ones and from
// shapes. Returns true if the results are now known, so that no instruction is needed.
[[nodiscard]] bool fold(Lowering& lowering, const Operation& op);

// The literal as the HLO text parser would create it.
[[nodiscard]] Literal literal_of(const Shape& shape, const Integers& values);
[[nodiscard]] Literal literal_of(const Shape& shape, const mlir::DenseValues& values);

}  // namespace tilecast::ir::stablehlo

// Inside of ir/stablehlo/stablehlo.h: sizes that a program computes, as numbers.
#pragma once

#include "ir/mlir/mlir_parser.h"
#include "ir/stablehlo/lowering.h"

namespace tilecast::ir::stablehlo {

// Literals of up to this many elements keep their values beside the text (as those of HLO text do).
inline constexpr std::size_t kMostElements = 64;

// True when every result of `op` is a small integer tensor that follows from known ones and from
// shapes: it is then known, and needs no instruction.
[[nodiscard]] bool fold(Lowering& lowering, const Operation& op);

// As the reader of HLO text makes it.
[[nodiscard]] Literal literal_of(const Shape& shape, const Integers& values);
[[nodiscard]] Literal literal_of(const Shape& shape, const mlir::DenseValues& values);

}  // namespace tilecast::ir::stablehlo

// MLIR text -> tree (ir/mlir/mlir_tree.h): generic forms of every dialect, pretty forms of builtin,
// func, stablehlo, mhlo, chlo, check and sdy, and the forms of arith, shape and tensor that JAX
// prints.
//
// Operands and results have the types written in the text. A use before its definition, a
// redefinition, and a mismatch of written types and uses are errors. For an op with an unknown
// pretty form, only operands and types are read; it is an error if they cannot be determined. Text
// after the module (such as a log line) causes a warning. Throws Error: file:line:col: message, the
// line and a caret. Limits: nesting depth 128, 4 M operations, 32 dimensions. Thread-safe (no
// shared state).
#pragma once

#include "base/source_text.h"
#include "ir/mlir/mlir_tree.h"

namespace tilecast::ir::mlir {

[[nodiscard]] Tree parse_mlir(const base::SourceText& text);

// The numbers in a kDense attribute, row-major. `elided`: `dense_resource<...>`,
// `dense<__elided__>`.
struct DenseValues {
  bool elided = false;
  bool splat = false;                  // one value for all elements
  std::vector<std::int64_t> integers;  // integer and i1 elements; at most `most`
  std::vector<double> numbers;         // floating-point elements; complex: real, imaginary
  std::int64_t count = 0;              // number of elements as written; 1 for a splat
};
[[nodiscard]] DenseValues read_dense(const Attribute& dense, const Type& type,
                                     const base::SourceText& text, std::size_t most);

}  // namespace tilecast::ir::mlir

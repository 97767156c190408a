// MLIR text -> tree (ir/mlir/mlir_tree.h): generic forms of every dialect, pretty forms of
// builtin, func, stablehlo, mhlo, chlo, check, sdy and what JAX prints of arith, shape and tensor.
//
// Types of operands and results are those that are written; a use before its definition, a second
// definition and a mismatch of written types and uses are errors. Of an op whose pretty form is not
// known only operands and types are read; it is an error where they cannot be told. What follows
// the module (a line of some log) is a warning. Throws Error: file:line:col: message, the line and
// a caret. Limits: nesting depth 128, 4 M operations, 32 dimensions. Thread-safe (no shared state).
#pragma once

#include "base/source_text.h"
#include "ir/mlir/mlir_tree.h"

namespace tilecast::ir::mlir {

[[nodiscard]] Tree parse_mlir(const base::SourceText& text);

// The numbers of a kDense attribute, row-major. Elided: `dense_resource<...>`, `dense<__elided__>`.
struct DenseValues {
  bool elided = false;
  bool splat = false;                  // one value for all elements
  std::vector<std::int64_t> integers;  // integer and i1 elements; at most `most`
  std::vector<double> numbers;         // floating-point elements; complex: real, imaginary
  std::int64_t count = 0;              // as written, of one splat 1
};
[[nodiscard]] DenseValues read_dense(const Attribute& dense, const Type& type,
                                     const base::SourceText& text, std::size_t most);

}  // namespace tilecast::ir::mlir

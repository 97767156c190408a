// MLIR bytecode -> tree (ir/mlir/mlir_tree.h), as JAX writes the bodies of Pallas kernels: version
// 0 of the format, with the encodings of the builtin dialect. Attributes and types of other
// dialects are the text that the file holds.
//
// A name loses its "stable_mosaic." prefix. vector<...> and memref<...> are of Type::Kind::kArray
// with `text` "vector" or "memref"; `encoding` of a memref is its memory space. Locations are not
// read; of kDense, `text` is the raw values. Format: mlir.llvm.org/docs/BytecodeFormat; encodings:
// mlir/IR/BuiltinDialectBytecode.td. Thread-safe (no shared state).
#pragma once

#include <string_view>

#include "ir/mlir/mlir_tree.h"

namespace tilecast::ir::mlir {

// Keeps a copy of `bytes`. Throws Error for what is damaged or of another version; never reads
// beyond the end. Limits: nesting depth 64, 262,144 operations, values and parts of attributes.
[[nodiscard]] Tree read_bytecode(std::string_view bytes);

}  // namespace tilecast::ir::mlir

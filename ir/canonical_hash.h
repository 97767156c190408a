// A kernel's identity on disk. Kernels that compute the same result with the same ops have equal
// hashes, regardless of names, op order and parameter numbering. The hash is stable across
// processes and machines. 32 hex digits (128 bits). Thread-safe.
//
// The ops that the outputs need are numbered in post-order, outputs and operands from first to
// last. Each op contributes its opcode, shape with layout, attributes and its operands' numbers. A
// kernel that recomputes a value differs from one that uses the value twice. Opcodes and types are
// hashed by name. Information that ir::Op does not hold is ignored: the contents of large literals,
// and called computations of more than one op, which are represented by their work counts.
#pragma once

#include <string>

#include "ir/kernel.h"

namespace tilecast::ir {

[[nodiscard]] std::string canonical_hash(const Kernel& kernel);

}  // namespace tilecast::ir

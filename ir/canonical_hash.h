// A kernel's identity on disk: equal for kernels that compute the same with the same ops, whatever
// their names, the order of their ops or the numbering of their parameters; stable across
// processes, machines and versions of this format. 32 hex digits (128 bits). Thread-safe.
//
// The ops that the outputs need are numbered in post-order, outputs and operands from the first to
// the last; each contributes its opcode, shape with layout, attributes and its operands' numbers.
// Recomputing a value is another kernel than using it twice. Opcodes and types count by name.
// What ir::Op does not hold cannot tell kernels apart: the contents of large literals, and called
// computations that are not one op, which count by their work.
#pragma once

#include <string>

#include "ir/kernel.h"

namespace tilecast::ir {

[[nodiscard]] std::string canonical_hash(const Kernel& kernel);

}  // namespace tilecast::ir

// A kernel's interior graph in Graphviz' dot language, for looking at: `dot -Tsvg`.
#pragma once

#include <string>

#include "ir/kernel.h"

namespace tilecast::ir {

// One node per op (name, opcode, shape), edges from operands to users; parameters are boxes on top,
// outputs have a double border.
[[nodiscard]] std::string write_dot(const Kernel& kernel);

}  // namespace tilecast::ir

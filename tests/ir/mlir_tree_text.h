// Prints an MLIR tree in a canonical form, equal for different spellings of one program: values by
// number, attributes sorted, no locations, names of values or positions.
#pragma once

#include <string>

#include "ir/mlir/mlir_tree.h"

namespace tilecast::ir::mlir {

[[nodiscard]] std::string tree_text(const Tree& tree);

}  // namespace tilecast::ir::mlir

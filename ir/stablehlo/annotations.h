// Part of the implementation of ir/stablehlo/stablehlo.h: attributes and metadata of instructions,
// as in HLO text.
#pragma once

#include <string>
#include <string_view>

#include "ir/hlo.h"
#include "ir/mlir/mlir_tree.h"

namespace tilecast::ir::stablehlo {

// True if `name` has only letters, digits and underscores, so that it can name an instruction.
[[nodiscard]] bool is_word(std::string_view name);
void keep_frontend_attribute(Instruction& instruction, std::string_view key,
                             std::string_view value);
// Adds `sharding=` if the text is an HLO sharding, else a frontend attribute.
void keep_sharding(Instruction& instruction, const std::string& text);
// Metadata from `location` (the content of loc(...)): name and source position.
[[nodiscard]] std::string metadata_of(const mlir::Tree& tree, std::string_view location);

}  // namespace tilecast::ir::stablehlo

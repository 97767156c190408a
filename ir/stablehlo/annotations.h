// Inside of ir/stablehlo/stablehlo.h: what is kept beside instructions, as HLO text has it.
#pragma once

#include <string>
#include <string_view>

#include "ir/hlo.h"
#include "ir/mlir/mlir_tree.h"

namespace tilecast::ir::stablehlo {

// Letters, digits and underscores: an SSA name that can name an instruction.
[[nodiscard]] bool is_word(std::string_view name);
void keep_frontend_attribute(Instruction& instruction, std::string_view key,
                             std::string_view value);
// `sharding=` where the text is one of HLO's, else a frontend attribute.
void keep_sharding(Instruction& instruction, const std::string& text);
// The metadata that `location` (what loc(...) holds) gives: name and position of the source.
[[nodiscard]] std::string metadata_of(const mlir::Tree& tree, std::string_view location);

}  // namespace tilecast::ir::stablehlo

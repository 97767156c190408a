// How HLO instructions are printed as StableHLO ops: one row per opcode with a StableHLO
// equivalent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/hlo.h"

namespace tilecast::ir::stablehlo {

struct OpSite {
  const Computation& computation;
  const Instruction& instruction;
  std::string operands;  // `%x, %y`

  [[nodiscard]] const Shape& operand_shape(std::size_t i) const {
    return computation.at(instruction.operands[i]).shape;
  }
};

struct OpForm {
  // How types are printed. kElementwise: a single type if all are equal, else as kFunction.
  // kFunction: `(operands) -> result`. kResult: the result type. kGeneric: the generic form
  // `"name"(operands) <{body}>`, with types as in kFunction.
  enum class Style : std::uint8_t { kElementwise, kFunction, kResult, kGeneric };

  Opcode opcode;
  std::string_view name;  // stablehlo.add
  Style style;
  // Prints the text after the name, or the attributes of a generic form; nullopt if this
  // instruction has no such form.
  std::optional<std::string> (*body)(const OpSite& site);
};

// Null if StableHLO has no such op.
[[nodiscard]] const OpForm* find_form(Opcode opcode);

}  // namespace tilecast::ir::stablehlo

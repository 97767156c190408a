// How HLO instructions are written as StableHLO ops: one row per opcode that StableHLO has an op
// for.
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
  // kElementwise: one type where all are the same, else as kFunction, `(operands) -> result`.
  // kResult: the result's. kGeneric: `"name"(operands) <{body}>` with types as kFunction.
  enum class Style : std::uint8_t { kElementwise, kFunction, kResult, kGeneric };

  Opcode opcode;
  std::string_view name;  // stablehlo.add
  Style style;
  // What follows the name, or the attributes of a generic form; nothing: no form for this one.
  std::optional<std::string> (*body)(const OpSite& site);
};

// Null where StableHLO has no op.
[[nodiscard]] const OpForm* find_form(Opcode opcode);

}  // namespace tilecast::ir::stablehlo

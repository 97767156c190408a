// The attributes of each opcode and how they are read and written: one row per attribute, in the
// order in which XLA prints them. Source: XLA's HLO parser (the attribute tables of its
// instructions).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/hlo.h"

namespace tilecast::ir {

class ModuleParser;

struct AttributeRow {
  std::string_view key;
  bool required = false;
  // Reads the value at the cursor into the instruction.
  void (*read)(ModuleParser& parser, Instruction& instruction, std::string_view key) = nullptr;
  // Returns the value as text, "" to omit it. Null for called computations and attributes common to
  // all instructions, which are printed after the opcode's own (ir/text/print_attributes.cpp).
  std::string (*write)(const Computation& computation, const Instruction& instruction,
                       std::string_view key) = nullptr;
};

// Attributes every instruction may have.
[[nodiscard]] std::span<const AttributeRow> common_attributes();
// Attributes of the opcode; `predicated` selects the form of conditional with a pred operand.
[[nodiscard]] std::span<const AttributeRow> attributes_for(Opcode opcode, bool predicated);
// Attributes of async-start, -update and -done, in generic syntax or in the short one (`sugar`);
// empty for other opcodes.
[[nodiscard]] std::span<const AttributeRow> async_attributes(Opcode opcode, bool sugar);

}  // namespace tilecast::ir

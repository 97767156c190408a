// A row of the table of ops (ir/ops/op_table.cpp): besides what everybody asks (ir/op.h), what ir
// needs to read, check, count and print the op.
//
//   const OpRow& row = op_row(Opcode::kDot);
//   for (const AttributeRow& attribute : row.attributes.rows) use(attribute.key);
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/hlo.h"

namespace tilecast::ir {

class ModuleParser;
struct CountedOp;
struct WorkCounts;
namespace infer {
struct Site;
}
namespace stablehlo {
struct OpSite;
}

// An attribute and how it is read and written as HLO text. Source: XLA's HLO parser (the attribute
// tables of its instructions).
struct AttributeRow {
  // For a called computation: its position in Instruction::called, or that it is a list of all.
  static constexpr int kNoCallee = -1, kAllCallees = -2;

  std::string_view key;
  bool required = false;
  // Reads the value at the cursor into the instruction.
  void (*read)(ModuleParser& parser, Instruction& instruction, std::string_view key) = nullptr;
  // Returns the value as text, "" to omit it. Null for called computations and attributes common to
  // all instructions, which are printed after the opcode's own (ir/text/hlo_printer.cpp).
  std::string (*write)(const Computation& computation, const Instruction& instruction,
                       std::string_view key) = nullptr;
  int callee = kNoCallee;
};

// The attributes an opcode may have, in the order in which XLA prints them, and the struct of
// ir/hlo_attributes.h that holds those with a field of their own.
struct OpAttributes {
  OpAttrs (*empty)() = nullptr;
  std::span<const AttributeRow> rows = {};
};

struct ShapeRule {
  // The shape of the result; without element type if it is as given. Throws Error (message without
  // position) if the operands cannot be combined. Null: given, not inferred.
  Shape (*infer)(const infer::Site& site) = nullptr;
  bool any_size = false;  // operands may have unbounded dimensions
};

namespace stablehlo {

// How the op is printed as StableHLO.
struct OpForm {
  // kElementwise: a single type if all are equal, else as kFunction. kFunction: `(operands) ->
  // result`. kResult: the result type. kGeneric: the generic form `"name"(operands) <{body}>`, with
  // types as in kFunction. kOperand: not at all, since it only moves or awaits its first operand.
  enum class Style : std::uint8_t { kElementwise, kFunction, kResult, kGeneric, kOperand };

  Style style = Style::kGeneric;
  // Prints the text after the name, or the attributes of a generic form; nullopt if this
  // instruction has no such form. Null: StableHLO has no such op.
  std::optional<std::string> (*body)(const OpSite& site) = nullptr;
  std::string_view name = {};  // empty: as in HLO, stablehlo.add
};

}  // namespace stablehlo

// The elements of the tuple that an asynchronous start gives, which hold ...
struct StartTuple {
  static constexpr int kNone = -1;

  int operands = 0;    // ... its operands; kNone: its arrays are new
  int result = kNone;  // ... its result; kNone: all do
};

struct OpRow {
  OpInfo info;
  OpAttributes attributes;
  ShapeRule shape;
  WorkCounts (*count)(const CountedOp& op) = nullptr;  // null: no work, every byte accessed once
  stablehlo::OpForm form;
  StartTuple tuple = {};
};

[[nodiscard]] const OpRow& op_row(Opcode opcode);
// Attributes every instruction may have.
[[nodiscard]] std::span<const AttributeRow> common_attributes();
// Attributes of the opcode; `predicated` selects the form of conditional with a pred operand.
[[nodiscard]] std::span<const AttributeRow> attributes_for(Opcode opcode, bool predicated);
// Attributes of async-start, -update and -done themselves in the short syntax `custom-call-start`.
[[nodiscard]] std::span<const AttributeRow> short_async_attributes(Opcode opcode);
// Default attributes of the type that the opcode carries.
[[nodiscard]] OpAttrs attributes_of(Opcode opcode);

}  // namespace tilecast::ir

// Readers of attribute values into an instruction, for the rows of attribute_table.cpp.
#pragma once

#include <span>
#include <string_view>

#include "ir/text/module_parser.h"

namespace tilecast::ir::attribute {

using Key = std::string_view;

// The current word, which must be one of `known`; `what` names it in messages.
std::string one_of(Cursor& cursor, std::span<const std::string_view> known, std::string_view what);

// Kept as canonical text under the attribute's key.
void keep(Instruction& instruction, Key key, std::string value);
void keep_true(ModuleParser& parser, Instruction& instruction, Key key);  // `false` is the default
void keep_bool(ModuleParser& parser, Instruction& instruction, Key key);
void keep_integer(ModuleParser& parser, Instruction& instruction, Key key);
void keep_string(ModuleParser& parser, Instruction& instruction, Key key);
void keep_word(ModuleParser& parser, Instruction& instruction, Key key);
void keep_shape(ModuleParser& parser, Instruction& instruction, Key key);
void keep_int_lists(ModuleParser& parser, Instruction& instruction, Key key);
void keep_value(ModuleParser& parser, Instruction& instruction, Key key);  // as written
void ignore(ModuleParser& parser, Instruction& instruction, Key key);

// Common to all instructions.
void replication(ModuleParser& parser, Instruction& instruction, Key key);
void control_predecessors(ModuleParser& parser, Instruction& instruction, Key key);
void metadata(ModuleParser& parser, Instruction& instruction, Key key);
void backend_config(ModuleParser& parser, Instruction& instruction, Key key);

// Typed fields.
void dimensions(ModuleParser& parser, Instruction& instruction, Key key);
void window(ModuleParser& parser, Instruction& instruction, Key key);
void dim_labels(ModuleParser& parser, Instruction& instruction, Key key);
void precision(ModuleParser& parser, Instruction& instruction, Key key);
void aliasing(ModuleParser& parser, Instruction& instruction, Key key);
void fusion_kind(ModuleParser& parser, Instruction& instruction, Key key);
void operand_layouts(ModuleParser& parser, Instruction& instruction, Key key);
void literal(ModuleParser& parser, Instruction& instruction, Key key);
void schedule(ModuleParser& parser, Instruction& instruction, Key key);
void api_version(ModuleParser& parser, Instruction& instruction, Key key);
void source_target_pairs(ModuleParser& parser, Instruction& instruction, Key key);

// Computations: the slot is the position in Instruction::called.
template <std::size_t slot>
void callee(ModuleParser& parser, Instruction& instruction, Key) {
  const ComputationId id = parser.computation_value();
  if (instruction.called.size() <= slot) instruction.called.resize(slot + 1);
  instruction.called[slot] = id;
}
void callees(ModuleParser& parser, Instruction& instruction, Key key);

}  // namespace tilecast::ir::attribute

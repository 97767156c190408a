// Functions that read attribute values into an instruction or write them, for the rows of
// ir/ops/op_table.cpp.
#pragma once

#include <span>
#include <string_view>

#include "ir/text/module_parser.h"

namespace tilecast::ir::attribute {

using Key = std::string_view;

// Reads a word that must be one of `known`; `what` describes it in messages.
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
void sharding(ModuleParser& parser, Instruction& instruction, Key key);
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
void literal(ModuleParser& parser, Instruction& instruction, Key key);
void schedule(ModuleParser& parser, Instruction& instruction, Key key);
void api_version(ModuleParser& parser, Instruction& instruction, Key key);
void source_target_pairs(ModuleParser& parser, Instruction& instruction, Key key);
void replica_groups(ModuleParser& parser, Instruction& instruction, Key key);
void dot_algorithm(ModuleParser& parser, Instruction& instruction, Key key);
void execution_thread(ModuleParser& parser, Instruction& instruction, Key key);

// Computations: the slot is the position in Instruction::called.
template <std::size_t slot>
void callee(ModuleParser& parser, Instruction& instruction, Key) {
  const ComputationId id = parser.computation_value();
  if (instruction.called.size() <= slot) instruction.called.resize(slot + 1);
  instruction.called[slot] = id;
}
void callees(ModuleParser& parser, Instruction& instruction, Key key);

// The attributes of type T; default values if the instruction has none.
template <class T>
const T& held(const Instruction& instruction) {
  static const T kNone{};
  const T* found = instruction.get<T>();
  return found == nullptr ? kNone : *found;
}

// Writers (hlo_printer.cpp): the value, or "" to leave it out.
std::string list(const Dims& values);  // {1,2}
std::string write_kept(const Computation&, const Instruction& instruction, Key key);
std::string write_dimensions(const Computation&, const Instruction& instruction, Key);
std::string write_window(const Computation&, const Instruction& instruction, Key);
std::string write_dim_labels(const Computation&, const Instruction& instruction, Key);
std::string write_precision(const Computation&, const Instruction& instruction, Key key);
std::string write_aliasing(const Computation&, const Instruction& instruction, Key);
std::string write_fusion_kind(const Computation&, const Instruction& instruction, Key);
std::string write_comparison(const Computation& computation, const Instruction& instruction, Key);
std::string write_slices(const Computation&, const Instruction& instruction, Key);
std::string write_pairs(const Computation&, const Instruction& instruction, Key);
std::string write_groups(const Computation&, const Instruction& instruction, Key);
std::string write_thread(const Computation&, const Instruction& instruction, Key);

}  // namespace tilecast::ir::attribute

// Recursive-descent parser of a module: name scopes, computations, instructions. Internal to the
// parse_*.cpp files; ir/text/hlo_parser.h is the interface. Single use.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text_hash.h"
#include "ir/name_table.h"
#include "ir/text/value_readers.h"

namespace tilecast::ir {

class ModuleParser {
 public:
  ModuleParser(const base::SourceText& source, const ParseOptions& options)
      : cursor_(source, options) {}

  Module parse();

  // For the readers of attributes.
  [[nodiscard]] Cursor& cursor() { return cursor_; }
  [[nodiscard]] Module& module() { return module_; }
  [[nodiscard]] Shape shape();                    // missing layouts are row-major
  ComputationId computation_value();              // a name, or a computation written inline
  std::vector<ComputationId> computation_list();  // {a, b}
  std::vector<InstrId> instruction_list();        // {%a, %b}
  [[nodiscard]] const Instruction& operand(const Instruction& of, std::size_t index) const;

 private:
  // A computation while it is parsed.
  struct Scope {
    Computation computation;  // parameters in the order of the text until number_parameters()
    NameTable<InstrId> names;
    std::list<std::string> own_names;                   // names that do not occur in the text
    std::unordered_map<std::string, int> name_counts;   // of those, by their first part
    std::unordered_map<InstrId, InstrId> async_starts;  // of async-update: the start of its chain
    std::map<std::pair<InstrId, std::int64_t>, InstrId> elements;  // of `%x#2`: their get
    InstrId root;
    std::size_t begin = 0;
  };
  // A parsed opcode. `custom-call-start` is async-start wrapping custom-call.
  struct OpcodeText {
    Opcode opcode;
    std::optional<Opcode> wrapped;
  };

  // parse_module.cpp
  void read_header();
  void read_header_attributes();
  void read_tables();
  [[nodiscard]] bool looks_like_computation();
  void read_single_instruction();
  void finish_module();
  void fill_entry_layouts();

  void read_computation();
  void read_signature(std::optional<Shape>& result);
  void read_body(Scope& scope);
  [[nodiscard]] bool at_braced_name() const;
  ComputationId finish_computation(Scope&& scope, const std::optional<Shape>& result);
  void number_parameters(Scope& scope);
  ComputationId add_computation(Computation&& computation, std::size_t offset);
  ComputationId find_computation(std::string_view name, std::size_t offset) const;
  std::string unique_computation_name(const std::string& base);

  // parse_instruction.cpp
  void read_instruction(Scope& scope);
  InstrId read_rhs(Scope& scope, std::string_view name, std::size_t offset, bool with_attributes);
  OpcodeText read_opcode();
  void read_operands(Scope& scope, Instruction& instruction);
  InstrId read_operand(Scope& scope);
  InstrId named_operand(Scope& scope, const std::optional<Shape>& shape);
  InstrId element_operand(Scope& scope, InstrId tuple);
  InstrId missing_operand(Scope& scope, std::string_view name, const Shape& shape);
  void read_parenthesised(Scope& scope, Instruction& instruction);
  void check_operand_count(const Instruction& instruction, std::size_t opcode_at) const;
  void infer(const Scope& scope, Instruction& instruction, std::size_t opcode_at);
  InstrId add_instruction(Scope& scope, Instruction&& instruction, std::string_view text_name,
                          std::size_t offset);
  std::string anonymous_name(Scope& scope, Opcode opcode) const;

  // parse_module.cpp; `inner`: the operation wrapped by `custom-call-start`, else null
  struct AttributeForm {
    bool allowed = true;  // false for an operation written in place of an operand
    bool sugar = false;   // `custom-call-start` rather than `async-start`
  };
  void read_attributes(Instruction& instruction, Instruction* inner, AttributeForm form);

  // parse_instruction.cpp
  void check_async_shape(const Scope& scope, const Instruction& instruction,
                         std::size_t opcode_at) const;
  Instruction wrapped_instruction(const Scope& scope, const Instruction& start,
                                  Opcode opcode) const;
  void add_wrapped_computation(Instruction& start, Instruction&& inner, const Scope& scope,
                               std::size_t opcode_at);
  void finish_async(Scope& scope, Instruction& instruction, const OpcodeText& opcode,
                    std::size_t opcode_at);
  // The start of the chain that an async-update or async-done continues.
  InstrId async_start_of(const Scope& scope, const Instruction& instruction) const;

  Cursor cursor_;
  Module module_;
  std::unordered_map<std::string, ComputationId, base::TextHash, std::equal_to<>> computations_;
  std::unordered_map<std::string, int> computation_name_counts_;
  std::vector<Scope*> scopes_;      // innermost last
  std::vector<bool> async_callee_;  // by computation: referenced by an async-start
  std::size_t instruction_count_ = 0;
  std::int64_t missing_operands_ = 0;
  bool single_ = false;  // the text is one instruction: unknown operands become parameters
};

// Parses a module without verifying it.
[[nodiscard]] Module parse_unverified(const base::SourceText& text,
                                      const ParseOptions& options = {});
// How many operands an opcode takes.
struct OperandCounts {
  int least = 0, most = 0;
};
[[nodiscard]] OperandCounts operand_counts(Opcode opcode);

void start_where_operands_are(Module& module);  // parse_instruction.cpp

}  // namespace tilecast::ir

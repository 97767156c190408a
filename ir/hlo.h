// An HLO module as data: computations of instructions, exactly what the text says.
//
// Parsed by ir/text/hlo_parser.h, checked by ir/verify/verifier.h, printed by
// ir/text/hlo_printer.h. A module is not changed after it was verified, except through the named
// transformations (ir/fusion/fusion.h, ir/layout_assignment.h), which return a new one. Reading
// from several threads is safe. Instruction ids index `Computation::instructions`; textual order is
// kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/strong_id.h"
#include "ir/op.h"
#include "ir/op_attrs.h"
#include "ir/shape.h"
#include "ir/shared.h"

namespace tilecast::ir {

using InstrId = StrongId<struct InstrTag>;
using ComputationId = StrongId<struct ComputationTag>;

// An attribute kept as its raw value: printing order is decided by the printer.
struct RawAttr {
  std::string key;
  std::string value;  // exactly as written, after `key=`
};

// output_to_operand_aliasing and input_output_alias entries.
struct Alias {
  Dims output_index;
  std::int64_t operand = 0;  // operand or parameter number
  Dims operand_index;
  bool must_alias = false;
};

struct Instruction {
  std::string name;  // without `%`
  Opcode opcode = Opcode::kParameter;
  Shape shape;
  std::vector<InstrId> operands;
  Dims dimensions;  // `dimensions={...}` of broadcast, reduce, transpose, concatenate, sort ...
  OpAttrs attrs;
  // Computations in attribute order: while {condition, body}; reduce, map, call {to_apply};
  // fusion, async-start {calls}; select-and-scatter {select, scatter}; conditional: branches
  // (predicated: true first).
  std::vector<ComputationId> called;
  SharedOrEmpty<std::vector<InstrId>> control_predecessors;
  SharedOrEmpty<std::vector<Alias>> aliasing;  // output_to_operand_aliasing
  SharedOrEmpty<std::string> backend_config;   // raw text
  std::string metadata;                        // raw text inside {}; see op_name()
  SharedOrEmpty<std::vector<RawAttr>> raw;  // all else: sharding, frontend_attributes, origin ...
  std::size_t offset = 0;                   // where the name stands in the source text

  template <class T>
  [[nodiscard]] const T& as() const {
    return attrs.as<T>();
  }
  template <class T>
  [[nodiscard]] const T* get() const {
    return attrs.get<T>();
  }
  [[nodiscard]] const std::string* find_raw(std::string_view key) const;
  [[nodiscard]] std::string_view op_name() const;  // from metadata; "" when absent
};

[[nodiscard]] Instruction parameter_instruction(std::string name, Shape shape, std::size_t number);
// Custom calls that only annotate their operand and take no time on the device: sharding and
// placement marks of JAX and XLA that later passes remove. The result is operand 0.
[[nodiscard]] bool is_annotation(const Instruction& instruction);
// Custom calls of XLA:TPU that name memory and move nothing: buffers that later ops fill, arrays
// that lie one behind the other already.
[[nodiscard]] bool only_names_memory(const Instruction& instruction);
// "main" where no thread is named.
[[nodiscard]] inline std::string_view thread_name(std::string_view thread) {
  return thread.empty() ? "main" : thread;
}

struct Computation {
  std::string name;
  std::vector<Instruction> instructions;
  std::vector<InstrId> parameters;  // by parameter number
  InstrId root;
  std::string execution_thread;  // "" or "main" = main

  [[nodiscard]] const Instruction& at(InstrId id) const { return instructions[id.index()]; }
  [[nodiscard]] const Instruction& root_instruction() const { return at(root); }
};

struct Module {
  std::string name;
  std::string file;                       // where it was read from, for messages
  std::vector<Computation> computations;  // callees before callers
  ComputationId entry;
  bool is_scheduled = false;
  std::int64_t replica_count = 1, num_partitions = 1;
  std::vector<Shape> entry_parameter_layouts;  // empty = none given
  std::optional<Shape> entry_result_layout;
  std::vector<Alias> input_output_alias;
  std::vector<RawAttr> raw;           // other header attributes
  std::vector<std::string> warnings;  // lenient reading: what was kept but not understood

  [[nodiscard]] const Computation& at(ComputationId id) const { return computations[id.index()]; }
  [[nodiscard]] const Computation& entry_computation() const { return at(entry); }
};

}  // namespace tilecast::ir

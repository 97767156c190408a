// An HLO module as data: computations of instructions, exactly as in the text.
//
// Parsed by ir/text/hlo_parser.h, checked by ir/verify/verifier.h, printed by
// ir/text/hlo_printer.h. A verified module is not changed, except by the named transformations
// (ir/fusion/fusion.h, ir/layout_assignment.h), which return a new one. Concurrent reads are safe.
// Instruction ids index `Computation::instructions`, which keeps the order of the text.
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

// An attribute kept as raw text. The printer decides the order in which attributes are printed.
struct RawAttr {
  std::string key;
  std::string value;  // exactly as written, after `key=`
};

// An entry of output_to_operand_aliasing or input_output_alias.
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
  SharedOrEmpty<std::vector<RawAttr>> raw;  // all others: sharding, frontend_attributes, origin ...
  std::size_t offset = 0;                   // of the name in the source text

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
[[nodiscard]] bool is_scalar_constant(const Instruction& instruction);
// True for custom calls that only annotate their operand and take no time on the device: sharding
// and placement marks of JAX and XLA, which later passes remove. The result is operand 0.
[[nodiscard]] bool is_annotation(const Instruction& instruction);
// True for XLA:TPU custom calls that name memory and move no data: buffers that later ops fill, and
// concatenations of arrays that are already adjacent.
[[nodiscard]] bool only_names_memory(const Instruction& instruction);
// The name of the thread; "main" if empty.
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

// The tuple of instructions of a computation.
[[nodiscard]] Instruction tuple_instruction(std::string name, std::vector<InstrId> operands,
                                            const Computation& computation);

struct Module {
  std::string name;
  std::string file;                       // the file it was read from, for messages
  std::vector<Computation> computations;  // callees before callers
  ComputationId entry;
  bool is_scheduled = false;
  std::int64_t window_bytes = 0;  // most that the tiles of a kernel take; 0: not known
  std::int64_t replica_count = 1, num_partitions = 1;
  std::vector<Shape> entry_parameter_layouts;  // empty = none given
  std::optional<Shape> entry_result_layout;
  std::vector<Alias> input_output_alias;
  std::vector<RawAttr> raw;           // other header attributes
  std::vector<std::string> warnings;  // in lenient mode: attributes kept but not understood

  [[nodiscard]] const Computation& at(ComputationId id) const { return computations[id.index()]; }
  [[nodiscard]] const Computation& entry_computation() const { return at(entry); }
};

// The opcode that `called` applies to its two parameters, if it does nothing else. Compares are
// excluded, because they have a direction as well. A scan's returns the result twice.
[[nodiscard]] std::optional<Opcode> applied_opcode(const Computation& called);

}  // namespace tilecast::ir

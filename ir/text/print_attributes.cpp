#include "ir/text/print_attributes.h"

#include <initializer_list>
#include <string_view>

namespace tilecast::ir {
namespace {

// Prints the attributes that name computations and those common to all instructions.
class CommonAttributes {
 public:
  CommonAttributes(std::string& out, const Module& module, const PrintOptions& options)
      : out_(out), module_(module), options_(options) {}

  void write_called(const Computation& computation, const Instruction& instruction) {
    const auto& called = instruction.called;
    if (called.empty()) return;
    using enum Opcode;
    const Opcode opcode = instruction.opcode;
    if (opcode == kWhile) return put_each({"condition", "body"}, called);
    if (opcode == kSelectAndScatter) return put_each({"select", "scatter"}, called);
    if (opcode == kConditional && selects_by_predicate(computation, instruction)) {
      return put_each({"true_computation", "false_computation"}, called);
    }
    if (opcode == kConditional) return put_list("branch_computations", called);
    if (opcode == kCustomCall) return put_list("called_computations", called);
    if (is_one_of(opcode, {kAsyncUpdate, kAsyncDone})) return;
    put_each({is_one_of(opcode, {kFusion, kAsyncStart}) ? "calls" : "to_apply"}, called);
  }

  void write_common(const Computation& computation, const Instruction& instruction) {
    for (const std::string_view key : {"is_composite", "sharding", "frontend_attributes"}) {
      raw(instruction, key);
    }
    write_predecessors(computation, instruction);
    for (const std::string_view key : {"statistics", "result_accuracy", "origin"}) {
      raw(instruction, key);
    }
    if (options_.short_form) return;
    if (!instruction.metadata.empty()) {
      out_ += ", metadata={";
      out_ += instruction.metadata;
      out_ += '}';
    }
    if (!instruction.backend_config->empty()) {
      out_ += ", backend_config=";
      out_ += *instruction.backend_config;
    }
  }

 private:
  static bool selects_by_predicate(const Computation& computation, const Instruction& instruction) {
    return !instruction.operands.empty() && instruction.called.size() == 2 &&
           computation.at(instruction.operands.front()).shape.dtype == DType::kPred;
  }

  void write_predecessors(const Computation& computation, const Instruction& instruction) {
    if (instruction.control_predecessors->empty()) return;
    out_ += ", control-predecessors={";
    bool first = true;
    for (const InstrId id : *instruction.control_predecessors) {
      if (!first) out_ += ", ";
      first = false;
      append_name(computation.at(id).name);
    }
    out_ += '}';
  }

  void put_each(std::initializer_list<std::string_view> keys,
                const std::vector<ComputationId>& called) {
    std::size_t i = 0;
    for (const std::string_view key : keys) {
      if (i == called.size()) return;
      begin(key);
      append_name(module_.at(called[i++]).name);
    }
  }
  void put_list(std::string_view key, const std::vector<ComputationId>& called) {
    begin(key);
    out_ += '{';
    for (std::size_t i = 0; i < called.size(); ++i) {
      if (i > 0) out_ += ", ";
      append_name(module_.at(called[i]).name);
    }
    out_ += '}';
  }
  void raw(const Instruction& instruction, std::string_view key) {
    for (const RawAttr& attr : *instruction.raw) {
      if (attr.key != key) continue;
      begin(key);
      out_ += attr.value;
    }
  }
  void begin(std::string_view key) {
    out_ += ", ";
    out_ += key;
    out_ += '=';
  }
  void append_name(const std::string& name) {
    if (!options_.short_form) out_ += '%';
    out_ += name;
  }

  std::string& out_;
  const Module& module_;
  const PrintOptions& options_;
};

}  // namespace

void append_attributes(std::string& out, const Module& module, const Computation& computation,
                       const Instruction& instruction, const Instruction* wrapped,
                       const PrintOptions& options) {
  append_opcode_attributes(out, computation, instruction);
  CommonAttributes common(out, module, options);
  if (instruction.opcode == Opcode::kAsyncStart && wrapped != nullptr) {
    const Computation& inner = module.at(instruction.called.front());
    append_opcode_attributes(out, inner, *wrapped);
    common.write_called(inner, *wrapped);
  } else {
    common.write_called(computation, instruction);
  }
  common.write_common(computation, instruction);
}

}  // namespace tilecast::ir

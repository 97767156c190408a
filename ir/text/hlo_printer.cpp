#include "ir/text/hlo_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/text/hlo_lexer.h"
#include "ir/text/print_attributes.h"
#include "ir/text/print_order.h"

namespace tilecast::ir {
namespace {

// Long operand lists get a comment with the position at every fifth operand.
constexpr std::size_t kCommentInterval = 5;

const std::string* find_raw(const Module& module, std::string_view key) {
  for (const RawAttr& attr : module.raw) {
    if (attr.key == key) return &attr.value;
  }
  return nullptr;
}

class Printer {
 public:
  Printer(const Module& module, const PrintOptions& options) : module_(module), options_(options) {}

  std::string print_module() {
    print_header();
    const PrintPlan plan = plan_printing(module_);
    for (const ComputationId id : plan.computations) {
      if (id == module_.entry) out_ += "ENTRY ";
      print_computation(module_.at(id), plan.instructions[id.index()]);
      out_ += "\n\n";
    }
    return std::move(out_);
  }

  std::string print_one(const Computation& computation, const Instruction& instruction) {
    print(computation, instruction);
    return std::move(out_);
  }

 private:
  void print_header();
  void print_entry_layout();
  void print_signature(const Computation& computation);
  void print_computation(const Computation& computation, const std::vector<InstrId>& order);
  void print(const Computation& computation, const Instruction& instruction);
  void print_opcode(const Instruction& instruction, const Instruction* wrapped);
  void print_operands(const Computation& computation, const Instruction& instruction);
  void print_operand(const Instruction& operand);

  void append_name(std::string_view name) {
    if (!options_.short_form) out_ += '%';
    out_ += name;
  }
  void raw_header(std::string_view key) {
    const std::string* value = find_raw(module_, key);
    if (value == nullptr) return;
    out_ += fmt::format(", {}={}", key, *value);
  }

  const Module& module_;
  const PrintOptions& options_;
  std::string out_;
};

void Printer::print_header() {
  constexpr std::array<std::string_view, 4> kBeforeCounts = {
      "buffer_donor", "alias_passthrough_params", "allow_spmd_sharding_propagation_to_parameters",
      "allow_spmd_sharding_propagation_to_output"};
  out_ += "HloModule " + module_.name;
  if (module_.is_scheduled) out_ += ", is_scheduled=true";
  if (!module_.input_output_alias.empty()) {
    out_ += ", input_output_alias={ ";
    append_aliases(out_, module_.input_output_alias, /*with_kind=*/true);
    out_ += " }";
  }
  raw_header(kBeforeCounts[0]);
  raw_header(kBeforeCounts[1]);
  print_entry_layout();
  raw_header(kBeforeCounts[2]);
  raw_header(kBeforeCounts[3]);
  if (module_.replica_count != 1) out_ += fmt::format(", replica_count={}", module_.replica_count);
  if (module_.num_partitions != 1) {
    out_ += fmt::format(", num_partitions={}", module_.num_partitions);
  }
  raw_header("frontend_attributes");
  for (const RawAttr& attr : module_.raw) {
    const bool printed =
        std::find(kBeforeCounts.begin(), kBeforeCounts.end(), attr.key) != kBeforeCounts.end() ||
        attr.key == "frontend_attributes" || attr.key == "origin_recovery_table" ||
        is_table(attr.key);
    if (!printed) out_ += fmt::format(", {}={}", attr.key, attr.value);
  }
  if (find_raw(module_, "origin_recovery_table") != nullptr) {
    raw_header("origin_recovery_table");
    out_ += '\n';
  }
  out_ += "\n\n";
  if (options_.short_form) return;
  for (const RawAttr& attr : module_.raw) {
    if (is_table(attr.key)) out_ += fmt::format("{}\n{}\n", attr.key, attr.value);
  }
}

void Printer::print_entry_layout() {
  const Computation& entry = module_.entry_computation();
  std::vector<Shape> parameters = module_.entry_parameter_layouts;
  if (parameters.empty()) {
    for (const InstrId id : entry.parameters) parameters.push_back(entry.at(id).shape);
  }
  out_ += ", entry_computation_layout={";
  out_ += to_string(Shape::tuple(std::move(parameters)));
  out_ += "->";
  out_ += to_string(module_.entry_result_layout.value_or(entry.root_instruction().shape));
  out_ += '}';
}

// `(x: f32[2]) -> f32[2] `
void Printer::print_signature(const Computation& computation) {
  out_ += '(';
  for (std::size_t i = 0; i < computation.parameters.size(); ++i) {
    const Instruction& parameter = computation.at(computation.parameters[i]);
    if (i > 0) out_ += ", ";
    out_ += parameter.name;
    out_ += ": ";
    out_ += to_string(parameter.shape, /*with_layout=*/false);
  }
  out_ += ") -> ";
  out_ += to_string(computation.root_instruction().shape, /*with_layout=*/false);
  out_ += ' ';
}

void Printer::print_computation(const Computation& computation, const std::vector<InstrId>& order) {
  append_name(computation.name);
  out_ += ' ';
  if (!options_.short_form) print_signature(computation);
  out_ += "{\n";
  for (const InstrId id : order) {
    out_ += id == computation.root ? "  ROOT " : "  ";
    print(computation, computation.at(id));
    out_ += '\n';
  }
  out_ += '}';
  if (!computation.execution_thread.empty() && computation.execution_thread != "main") {
    out_ += fmt::format(", execution_thread=\"{}\"", computation.execution_thread);
  }
}

void Printer::print(const Computation& computation, const Instruction& instruction) {
  const Instruction* wrapped = nullptr;
  if (is_async_chain(instruction.opcode)) {
    wrapped = wrapped_instruction(module_, computation, instruction);
  }
  if (options_.names) {
    append_name(instruction.name);
    out_ += " = ";
  }
  out_ += to_string(instruction.shape);
  out_ += ' ';
  print_opcode(instruction, wrapped);
  out_ += '(';
  print_operands(computation, instruction);
  out_ += ')';
  append_attributes(out_, module_, computation, instruction, wrapped, options_);
}

void Printer::print_opcode(const Instruction& instruction, const Instruction* wrapped) {
  if (wrapped == nullptr) {
    out_ += name(instruction.opcode);
    return;
  }
  out_ += name(wrapped->opcode);
  out_ += name(instruction.opcode).substr(std::string_view("async").size());
}

void Printer::print_operands(const Computation& computation, const Instruction& instruction) {
  if (const auto* constant = instruction.get<ConstantAttrs>()) {
    out_ += constant->literal.text;
    return;
  }
  if (const auto* parameter = instruction.get<ParameterAttrs>()) {
    out_ += std::to_string(parameter->number);
    return;
  }
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    if (i > 0) out_ += ", ";
    if (i > 0 && i % kCommentInterval == 0 && !options_.short_form) {
      out_ += fmt::format("/*index={}*/", i);
    }
    print_operand(computation.at(instruction.operands[i]));
  }
}

void Printer::print_operand(const Instruction& operand) {
  if (!options_.short_form) out_ += to_string(operand.shape);
  if (!options_.names) return;
  if (!options_.short_form) out_ += ' ';
  append_name(operand.name);
}

}  // namespace

std::string print_hlo(const Module& module, const PrintOptions& options) {
  return Printer(module, options).print_module();
}

std::string print_instruction(const Module& module, const Computation& computation,
                              const Instruction& instruction, const PrintOptions& options) {
  return Printer(module, options).print_one(computation, instruction);
}

}  // namespace tilecast::ir

// Computations as regions, and tuples as several values.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/stablehlo/conventions.h"
#include "ir/stablehlo/print_values.h"
#include "ir/stablehlo/stablehlo_printer.h"

namespace tilecast::ir::stablehlo {
namespace {

constexpr std::size_t kMostInReducer = 64;  // instructions; larger computations are functions

bool is_flat(const Shape& shape) {
  return is_value(shape) || (shape.is_tuple() && std::ranges::all_of(shape.elements, is_value));
}

}  // namespace

bool has_regions(const Instruction& instruction, const OpForm* form) {
  return form != nullptr && !instruction.called.empty() &&
         !is_one_of(instruction.opcode, {Opcode::kCall, Opcode::kCustomCall});
}

std::vector<bool> StablehloPrinter::needed_functions() {
  std::vector<bool> needed(module_.computations.size(), false), reached = needed;
  needed[module_.entry.index()] = reached[module_.entry.index()] = true;
  for (std::size_t i = module_.computations.size(); i-- > 0;) {
    if (!reached[i]) continue;
    for (const Instruction& instruction : module_.computations[i].instructions) {
      if (instruction.called.empty()) continue;
      const OpForm* form = form_of(module_.computations[i], instruction);
      for (const ComputationId id : instruction.called) {
        reached[id.index()] = true;
        if (!has_regions(instruction, form)) needed[id.index()] = true;
      }
    }
  }
  return needed;
}

// A reducer: ops of StableHLO on values of default layout and nothing beside them; the root may be
// a tuple of them.
bool StablehloPrinter::fits_region(const Computation& computation) const {
  if (computation.instructions.size() > kMostInReducer || !computation.execution_thread.empty()) {
    return false;
  }
  for (const Instruction& instruction : computation.instructions) {
    const bool is_tuple = instruction.opcode == Opcode::kTuple && splits(instruction.shape) &&
                          &instruction == &computation.root_instruction();
    const bool simple = instruction.called.empty() && (instruction.shape.is_array() || is_tuple) &&
                        is_plain(instruction.shape) && instruction.control_predecessors->empty();
    if (!simple) return false;
    if (instruction.opcode == Opcode::kParameter) continue;
    const OpForm* form = find_form(instruction.opcode);
    if (form == nullptr || !form->body(OpSite{computation, instruction, {}})) return false;
  }
  return true;
}

bool StablehloPrinter::is_region(const Instruction& instruction) {
  return std::ranges::all_of(instruction.called, [&](ComputationId id) {
    std::optional<bool>& known = regions_[id.index()];
    if (!known) known = fits_region(module_.at(id));
    return *known;
  });
}

// Loops and branches over values that StableHLO takes, whose computations nothing else calls.
bool StablehloPrinter::is_control(const Instruction& instruction) const {
  const bool is_loop = instruction.opcode == Opcode::kWhile;
  if (!splits(instruction.shape)) return false;
  return std::ranges::all_of(instruction.called, [&](ComputationId id) {
    const Computation& called = module_.at(id);
    if (calls_[id.index()] != 1 || id == module_.entry || !called.execution_thread.empty() ||
        called.parameters.size() != 1) {
      return false;
    }
    const Shape& parameter = called.at(called.parameters[0]).shape;
    return (is_loop ? splits(parameter) : is_flat(parameter)) &&
           splits(called.root_instruction().shape);
  });
}

StablehloPrinter::Names StablehloPrinter::unpack(const std::string& value, const Shape& shape,
                                                 std::string_view indent) {
  if (!shape.is_tuple()) return {value};
  Names elements;
  for (std::size_t i = 0; i < shape.elements.size(); ++i) {
    elements.push_back("%" + fresh_name(fmt::format("{}_{}", value.substr(1), i)));
    out_ += fmt::format("{}{} = stablehlo.get_tuple_element {}[{}] {{{}}} : ({}) -> {}\n", indent,
                        elements.back(), value, i, kPackAttribute, mlir_type(shape),
                        mlir_type(shape.elements[i]));
  }
  return elements;
}

std::string StablehloPrinter::pack(const std::string& name, const Shape& shape,
                                   std::string_view indent) {
  Names results;
  for (std::size_t i = 0; i < shape.elements.size(); ++i) {
    results.push_back(fmt::format("%{}#{}", name, i));
  }
  std::string whole = "%" + fresh_name(name + "_all");
  out_ += fmt::format("{}{} = stablehlo.tuple {} {{{}}} : {}\n", indent, whole,
                      fmt::join(results, ", "), kPackAttribute, mlir_type(shape));
  return whole;
}

void StablehloPrinter::forget_names(std::size_t outside) {
  for (; taken_in_order_.size() > outside; taken_in_order_.pop_back()) {
    taken_.erase(taken_in_order_.back());
  }
}

void StablehloPrinter::print_return(const Computation& computation, const Names& names,
                                    std::string_view indent) {
  const Shape& shape = computation.root_instruction().shape;
  const Names values = unpack(names[computation.root.index()], shape, indent);
  out_ += fmt::format("{}stablehlo.return {} : {}\n", indent, fmt::join(values, ", "),
                      fmt::join(mlir_types(shape, /*apart=*/true), ", "));
}

void StablehloPrinter::print_regions(const Instruction& instruction, std::string_view indent) {
  const std::string inner = std::string(indent) + "  ";
  for (std::size_t i = 0; i < instruction.called.size(); ++i) {
    const ComputationId id = instruction.called[i];
    const Computation& computation = module_.at(id);
    Names names(computation.instructions.size());
    const std::size_t outside = taken_in_order_.size();
    std::vector<std::string> arguments;
    for (const InstrId parameter : computation.parameters) {
      std::string& name = names[parameter.index()];
      name = "%" + fresh_name(computation.at(parameter).name);
      arguments.push_back(fmt::format("{}: {}", name, mlir_type(computation.at(parameter).shape)));
    }
    out_ += fmt::format("{}{{\n{}^bb0({}):\n", i == 0 ? " (" : ", ", indent,
                        fmt::join(arguments, ", "));
    print_body(id, names, inner);
    print_return(computation, names, inner);
    out_ += fmt::format("{}}}", indent);
    forget_names(outside);  // a region's names end with it
  }
  out_ += ')';
}

void StablehloPrinter::print_region_parameter(const Computation& computation, const Names& elements,
                                              Names& names, std::string_view indent) {
  const InstrId id = computation.parameters[0];
  const Instruction& parameter = computation.at(id);
  const std::string name = fresh_name(parameter.name);
  names[id.index()] = "%" + name;
  const std::string type = mlir_type(parameter.shape);
  const std::string others =
      discardable(computation, parameter, name, nullptr, kParameterAttribute);
  const std::string values = fmt::format("{}", fmt::join(elements, ", "));
  out_ += parameter.shape.is_tuple()
              ? fmt::format("{}%{} = stablehlo.tuple{}{}{} : {}\n", indent, name,
                            values.empty() ? "" : " ", values, others, type)
              : fmt::format("{}%{} = \"stablehlo.optimization_barrier\"({}){} : ({}) -> {}\n",
                            indent, name, values, others, type, type);
}

void StablehloPrinter::print_control_regions(const Instruction& instruction,
                                             std::span<const Names> captured,
                                             std::string_view indent) {
  const std::string inner = std::string(indent) + "  ";
  for (std::size_t i = 0; i < instruction.called.size(); ++i) {
    const ComputationId id = instruction.called[i];
    const Computation& computation = module_.at(id);
    const Instruction& parameter = computation.at(computation.parameters[0]);
    Names names(computation.instructions.size());
    const std::size_t outside = taken_in_order_.size();
    out_ += i == 0 ? " ({\n" : ", {\n";
    Names elements = i < captured.size() ? captured[i] : Names();
    if (instruction.opcode == Opcode::kWhile) {
      std::vector<std::string> arguments;
      for (const std::string& type : mlir_types(parameter.shape, /*apart=*/true)) {
        elements.push_back("%" + fresh_name(fmt::format("{}_{}", parameter.name, elements.size())));
        arguments.push_back(fmt::format("{}: {}", elements.back(), type));
      }
      out_ += fmt::format("{}^bb0({}):\n", indent, fmt::join(arguments, ", "));
    }
    print_region_parameter(computation, elements, names, inner);
    print_body(id, names, inner);
    print_return(computation, names, inner);
    out_ += fmt::format("{}}}", indent);
    forget_names(outside);
  }
  out_ += ')';
}

}  // namespace tilecast::ir::stablehlo

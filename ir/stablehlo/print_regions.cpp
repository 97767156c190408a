// Prints computations as regions, and tuples as several values.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/stablehlo/print_values.h"
#include "ir/stablehlo/stablehlo_printer.h"

namespace tilecast::ir::stablehlo {
namespace {

constexpr std::size_t kMostInReducer = 64;  // instructions; larger computations are functions

// Whether the shape consists of values that StableHLO supports: arrays, tokens and nested tuples of
// them.
bool is_flat(const Shape& shape) {
  bool flat = true;
  for_each_leaf(shape, [&](const Shape& leaf) { flat = flat && is_value(leaf); });
  return flat;
}
bool is_results(const Shape& shape) {
  bool any = false;
  for_each_leaf(shape, [&](const Shape&) { any = true; });
  return any && is_flat(shape);
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
      const Instruction made = plain(module_.computations[i], instruction);
      const OpForm* form = form_of(module_.computations[i], made);
      const bool is_control = is_one_of(made.opcode, {Opcode::kWhile, Opcode::kConditional});
      for (const ComputationId id : instruction.called) {
        reached[id.index()] = true;
        if (!has_regions(made, form) || (is_control && is_shared(id))) needed[id.index()] = true;
      }
    }
  }
  return needed;
}

// Whether the computation can be a reducer's region: StableHLO ops on arrays; the root may be a
// tuple.
bool StablehloPrinter::fits_region(const Computation& computation) const {
  if (computation.instructions.size() > kMostInReducer) return false;
  for (const Instruction& instruction : computation.instructions) {
    const bool is_tuple = instruction.opcode == Opcode::kTuple && splits(instruction.shape) &&
                          &instruction == &computation.root_instruction();
    if (!instruction.called.empty() || !(instruction.shape.is_array() || is_tuple)) return false;
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

// Whether the instruction is a loop or branch over values that StableHLO supports.
bool StablehloPrinter::is_control(const Instruction& instruction) const {
  const bool is_loop = instruction.opcode == Opcode::kWhile;
  return is_results(instruction.shape) &&
         std::ranges::all_of(instruction.called, [&](ComputationId id) {
           const Shape& state = module_.at(id).at(module_.at(id).parameters[0]).shape;
           return is_loop ? is_results(state) : is_flat(state);
         });
}

StablehloPrinter::Names StablehloPrinter::unpack(const std::string& value, const Shape& shape,
                                                 std::string_view indent) {
  if (!shape.is_tuple()) return {value};
  Names leaves;
  const auto made = parts_.find(value);
  const Names parts = made == parts_.end() ? Names() : made->second;
  for (std::size_t i = 0; i < shape.elements.size(); ++i) {
    std::string part;
    if (i < parts.size()) {
      part = parts[i];
    } else {
      part = "%" + fresh_name(fmt::format("{}_{}", value.substr(1), i));
      out_ += fmt::format("{}{} = stablehlo.get_tuple_element {}[{}] : ({}) -> {}\n", indent, part,
                          value, i, mlir_type(shape), mlir_type(shape.elements[i]));
    }
    for (std::string& leaf : unpack(part, shape.elements[i], indent)) {
      leaves.push_back(std::move(leaf));
    }
  }
  return leaves;
}

std::string StablehloPrinter::pack(std::string_view name, const Shape& shape,
                                   std::span<const std::string>& leaves, std::string_view indent) {
  if (!shape.is_tuple()) {
    const std::string& leaf = leaves.front();
    leaves = leaves.subspan(1);
    return leaf;
  }
  Names parts;
  for (std::size_t i = 0; i < shape.elements.size(); ++i) {
    parts.push_back(pack(fmt::format("{}_{}", name, i), shape.elements[i], leaves, indent));
  }
  std::string whole = "%" + fresh_name(name);
  out_ += fmt::format("{}{} = stablehlo.tuple{}{} : {}\n", indent, whole, parts.empty() ? "" : " ",
                      fmt::join(parts, ", "), mlir_type(shape));
  parts_[whole] = std::move(parts);
  return whole;
}

void StablehloPrinter::forget_names(std::size_t outside) {
  for (; taken_in_order_.size() > outside; taken_in_order_.pop_back()) {
    taken_.erase(taken_in_order_.back());
    parts_.erase("%" + taken_in_order_.back());
  }
}

void StablehloPrinter::print_return(const std::string& value, const Shape& shape,
                                    std::string_view indent) {
  const Names values = unpack(value, shape, indent);
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
    print_return(names[computation.root.index()], computation.root_instruction().shape, inner);
    out_ += fmt::format("{}}}", indent);
    forget_names(outside);  // names of a region are local
  }
  out_ += ')';
}

void StablehloPrinter::print_control_body(ComputationId id, const Names& elements,
                                          std::string_view indent) {
  const Computation& computation = module_.at(id);
  const InstrId parameter = computation.parameters[0];
  const Shape& state = computation.at(parameter).shape;
  const Shape& result = computation.root_instruction().shape;
  std::span<const std::string> leaves = elements;
  const std::string argument = pack(computation.at(parameter).name, state, leaves, indent);
  if (is_shared(id)) {
    const std::string name = "%" + fresh_name(computation.name);
    out_ += fmt::format("{}{} = func.call {}({}) : ({}) -> {}\n", indent, name, symbol(id),
                        argument, mlir_type(state), mlir_type(result));
    return print_return(name, result, indent);
  }
  Names names(computation.instructions.size());
  names[parameter.index()] = argument;
  print_body(id, names, indent);
  print_return(names[computation.root.index()], result, indent);
}

void StablehloPrinter::print_control_regions(const Instruction& instruction,
                                             std::span<const Names> captured,
                                             std::string_view indent) {
  for (std::size_t i = 0; i < instruction.called.size(); ++i) {
    const Computation& computation = module_.at(instruction.called[i]);
    const Instruction& parameter = computation.at(computation.parameters[0]);
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
    print_control_body(instruction.called[i], elements, std::string(indent) + "  ");
    out_ += fmt::format("{}}}", indent);
    forget_names(outside);
  }
  out_ += ')';
}

}  // namespace tilecast::ir::stablehlo

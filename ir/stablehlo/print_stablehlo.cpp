// Module -> StableHLO text (ir/stablehlo/conventions.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "ir/stablehlo/conventions.h"
#include "ir/stablehlo/print_forms.h"
#include "ir/stablehlo/print_values.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_printer.h"
#include "ir/text/print_attributes.h"
#include "ir/text/print_order.h"

namespace tilecast::ir {
namespace stablehlo {
namespace {

constexpr std::size_t kMostInRegion = 64;  // instructions; larger computations are functions

bool is_ssa_name(std::string_view name) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
  };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         name.front() != '-' && std::ranges::all_of(name, is_part);
}

std::string mlir_symbol(std::string_view name) {
  const bool bare = is_ssa_name(name) && name.front() != '$' && name.front() != '.' &&
                    name.find('-') == std::string_view::npos;
  return bare ? fmt::format("@{}", name) : "@" + mlir_string(name);
}

bool has_regions(const Instruction& instruction, const OpForm* form) {
  return form != nullptr && !instruction.called.empty() && instruction.opcode != Opcode::kCall;
}

bool contains_key(std::string_view keys, std::string_view key) {
  for (std::size_t at = 0; at <= keys.size();) {
    const std::size_t end = std::min(keys.find(',', at), keys.size());
    if (keys.substr(at, end - at) == key) return true;
    at = end + 1;
  }
  return false;
}

// The op_name that metadata consists of, with its quotes, where that is all it says.
std::string_view only_op_name(std::string_view metadata) {
  constexpr std::string_view kKey = "op_name=";
  if (!metadata.starts_with(kKey)) return {};
  const std::string_view quoted = metadata.substr(kKey.size());
  const bool simple = quoted.size() > 2 && quoted.find('"', 1) == quoted.size() - 1 &&
                      quoted.find('\\') == std::string_view::npos;
  return simple ? quoted : std::string_view();
}

class StablehloPrinter {
 public:
  explicit StablehloPrinter(const Module& module)
      : module_(module), plan_(plan_printing(module)), regions_(module.computations.size()) {}

  std::string print();

 private:
  using Names = std::vector<std::string>;  // by InstrId, with the sign

  void print_function(ComputationId id);
  void print_parameters(const Computation& computation, Names& names);
  void print_body(ComputationId id, Names& names, std::string_view indent);
  void print_instruction(const Computation& computation, InstrId id, Names& names,
                         std::string_view indent);
  void print_native(const OpSite& site, const OpForm& form, const std::string& others);
  void print_fallback(const OpSite& site);
  void print_regions(const Instruction& instruction);
  void print_types(const OpSite& site, bool elementwise);
  // The discardable attributes, ` {...}` or nothing; `name`: the value's, `form`: null = fallback.
  [[nodiscard]] std::string discardable(const Computation& computation,
                                        const Instruction& instruction, std::string_view name,
                                        const OpForm* form);
  [[nodiscard]] std::string other_attributes(const Computation& computation,
                                             const Instruction& instruction,
                                             std::string_view holds);
  void add_regions(const Instruction& instruction, std::vector<std::string>& items);
  [[nodiscard]] bool is_region(const Instruction& instruction);
  [[nodiscard]] bool fits_region(const Computation& computation) const;
  std::string fresh_name(std::string_view name);

  // Null where the instruction is printed in the fallback form.
  const OpForm* form_of(const Computation& computation, const Instruction& instruction);

  const Module& module_;
  PrintPlan plan_;
  std::vector<std::optional<bool>> regions_;  // by computation: whether it can be a region
  std::unordered_set<std::string> taken_;     // names of the function that is printed
  std::vector<std::string> taken_in_order_;
  std::string out_;
};

std::string StablehloPrinter::fresh_name(std::string_view name) {
  std::string base = is_ssa_name(name) ? std::string(name) : fmt::format("v{}", name);
  std::ranges::replace_if(
      base,
      [](char c) {
        return !is_ssa_name(std::string{'_', c});
      },
      '_');
  std::string found = base;
  for (int i = 1; !taken_.insert(found).second; ++i) found = fmt::format("{}_{}", base, i);
  taken_in_order_.push_back(found);
  return found;
}

// Scalars, default layouts, ops of StableHLO and nothing beside them.
bool StablehloPrinter::fits_region(const Computation& computation) const {
  if (computation.instructions.size() > kMostInRegion || !computation.execution_thread.empty()) {
    return false;
  }
  for (const Instruction& instruction : computation.instructions) {
    const bool simple = instruction.called.empty() && instruction.shape.is_array() &&
                        is_plain(instruction.shape) && instruction.control_predecessors.empty();
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

// The HLO attributes that are said nowhere else, `key=value, ...`.
std::string StablehloPrinter::other_attributes(const Computation& computation,
                                               const Instruction& instruction,
                                               std::string_view holds) {
  std::string all;
  append_attributes(all, module_, computation, instruction, nullptr, {});
  const bool in_location =
      instruction.opcode != Opcode::kParameter && !only_op_name(instruction.metadata).empty();
  std::vector<std::string_view> kept = split_attributes(all);
  std::erase_if(kept, [&](std::string_view each) {
    const std::string_view key = each.substr(0, each.find('='));
    return contains_key(holds, key) || key == "control-predecessors" ||
           (key == "metadata" && in_location);
  });
  return fmt::format("{}", fmt::join(kept, ", "));
}

// The names of computations that are regions, and what their arguments have beside a type.
void StablehloPrinter::add_regions(const Instruction& instruction,
                                   std::vector<std::string>& items) {
  std::vector<std::string> names, arguments;
  bool any = false;
  for (const ComputationId id : instruction.called) {
    const Computation& computation = module_.at(id);
    names.push_back(mlir_string(computation.name));
    for (const InstrId parameter : computation.parameters) {
      arguments.push_back(
          mlir_string(other_attributes(computation, computation.at(parameter), "")));
      any = any || arguments.back().size() > 2;
    }
  }
  items.push_back(fmt::format("{} = [{}]", kRegionsAttribute, fmt::join(names, ", ")));
  if (!any) return;
  items.push_back(fmt::format("{} = [{}]", kArgumentsAttribute, fmt::join(arguments, ", ")));
}

std::string StablehloPrinter::discardable(const Computation& computation,
                                          const Instruction& instruction, std::string_view name,
                                          const OpForm* form) {
  constexpr std::string_view kCallees =
      "calls,to_apply,condition,body,select,scatter,true_computation,false_computation,"
      "branch_computations,called_computations";
  const bool is_argument = instruction.opcode == Opcode::kParameter;
  std::vector<std::string> items;
  if (has_regions(instruction, form)) add_regions(instruction, items);
  const auto add = [&](std::string_view key, std::string_view text) {
    items.push_back(fmt::format("{} = {}", key, mlir_string(text)));
  };
  if (name != instruction.name) add(kNameAttribute, instruction.name);
  const std::string others =
      other_attributes(computation, instruction, form != nullptr ? form->holds : kCallees);
  if (!others.empty()) add(kHloAttributes, others);
  if (!instruction.control_predecessors.empty()) {
    std::vector<std::string> before;
    for (const InstrId id : instruction.control_predecessors) {
      before.push_back(mlir_string(computation.at(id).name));
    }
    items.push_back(fmt::format("{} = [{}]", kAfterAttribute, fmt::join(before, ", ")));
  }
  if (!is_plain(instruction.shape)) {
    add(is_argument ? kArgumentShapeAttribute : kShapeAttribute, to_string(instruction.shape));
  }
  return items.empty() ? "" : fmt::format(" {{{}}}", fmt::join(items, ", "));
}

void StablehloPrinter::print_types(const OpSite& site, bool elementwise) {
  const std::string result = mlir_type(site.instruction.shape);
  std::vector<std::string> types;
  for (std::size_t i = 0; i < site.instruction.operands.size(); ++i) {
    types.push_back(mlir_type(site.operand_shape(i)));
  }
  const bool same = std::ranges::all_of(types, [&](const std::string& t) { return t == result; });
  out_ += elementwise && same ? " : " + result
                              : fmt::format(" : ({}) -> {}", fmt::join(types, ", "), result);
}

void StablehloPrinter::print_regions(const Instruction& instruction) {
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
    out_ += fmt::format("{}{{\n    ^bb0({}):\n", i == 0 ? " (" : ", ", fmt::join(arguments, ", "));
    print_body(id, names, "      ");
    out_ += fmt::format("      stablehlo.return {} : {}\n    }}", names[computation.root.index()],
                        mlir_type(computation.root_instruction().shape));
    for (; taken_in_order_.size() > outside; taken_in_order_.pop_back()) {
      taken_.erase(taken_in_order_.back());  // a region's names end with it
    }
  }
  out_ += ')';
}

const OpForm* StablehloPrinter::form_of(const Computation& computation,
                                        const Instruction& instruction) {
  using enum Opcode;
  const OpForm* form = find_form(instruction.opcode);
  if (form == nullptr || instruction.opcode == kCall) return form;
  const bool may_be_tuple = is_one_of(instruction.opcode, {kTuple, kGetTupleElement, kCustomCall});
  if ((instruction.shape.is_tuple() && !may_be_tuple) || !is_region(instruction)) return nullptr;
  return form->body(OpSite{computation, instruction, {}}) ? form : nullptr;
}

void StablehloPrinter::print_native(const OpSite& site, const OpForm& form,
                                    const std::string& others) {
  const std::string body = *form.body(site);
  if (form.opcode == Opcode::kCall) {
    out_ += fmt::format("{} {}({}){}", form.name,
                        mlir_symbol(module_.at(site.instruction.called[0]).name), body, others);
  } else if (form.opcode == Opcode::kConstant) {  // the only op that has them in front
    out_ += fmt::format("{}{} {}", form.name, others, body);
  } else if (form.style != OpForm::Style::kGeneric) {
    out_ += fmt::format("{}{}{}{}", form.name, body.empty() ? "" : " ", body, others);
  } else {
    out_ += fmt::format("\"{}\"({})", form.name, site.operands);
    if (!body.empty()) out_ += fmt::format(" <{{{}}}>", body);
    if (!site.instruction.called.empty()) print_regions(site.instruction);
    out_ += others;
  }
}

void StablehloPrinter::print_fallback(const OpSite& site) {
  std::string opcode(name(site.instruction.opcode));
  std::ranges::replace(opcode, '-', '_');
  out_ += fmt::format("\"{}{}\"({})", kFallbackDialect, opcode, site.operands);
  std::vector<std::string> items;
  for (const ComputationId id : site.instruction.called)
    items.push_back(mlir_symbol(module_.at(id).name));
  std::string properties;
  if (!items.empty()) {
    properties = fmt::format("{} = [{}]", kCalledAttribute, fmt::join(items, ", "));
  }
  if (const auto* constant = site.instruction.get<ConstantAttrs>()) {
    properties = fmt::format("{} = {}", kLiteralAttribute, mlir_string(constant->literal.text));
  }
  if (!properties.empty()) out_ += fmt::format(" <{{{}}}>", properties);
}

void StablehloPrinter::print_instruction(const Computation& computation, InstrId id, Names& names,
                                         std::string_view indent) {
  const Instruction& instruction = computation.at(id);
  std::vector<std::string_view> operands;
  for (const InstrId operand : instruction.operands) operands.push_back(names[operand.index()]);
  const std::string name = fresh_name(instruction.name);
  names[id.index()] = "%" + name;
  const OpSite site{computation, instruction, fmt::format("{}", fmt::join(operands, ", "))};
  out_ += fmt::format("{}%{} = ", indent, name);
  const OpForm* form = form_of(computation, instruction);
  const std::string others = discardable(computation, instruction, name, form);
  if (form != nullptr) {
    print_native(site, *form, others);
  } else {
    print_fallback(site);
    out_ += others;
  }
  if (form != nullptr && form->style == OpForm::Style::kResult) {
    out_ += " : " + mlir_type(instruction.shape);
  } else {
    print_types(site, form != nullptr && form->style == OpForm::Style::kElementwise);
  }
  const std::string_view op_name = only_op_name(instruction.metadata);
  if (!op_name.empty()) out_ += fmt::format(" loc({})", op_name);
  out_ += '\n';
}

void StablehloPrinter::print_body(ComputationId id, Names& names, std::string_view indent) {
  const Computation& computation = module_.at(id);
  for (const InstrId instruction : plan_.instructions[id.index()]) {
    if (computation.at(instruction).opcode == Opcode::kParameter) continue;
    print_instruction(computation, instruction, names, indent);
  }
}

void StablehloPrinter::print_parameters(const Computation& computation, Names& names) {
  for (std::size_t i = 0; i < computation.parameters.size(); ++i) {
    const Instruction& parameter = computation.at(computation.parameters[i]);
    const std::string name = fresh_name(parameter.name);
    names[computation.parameters[i].index()] = "%" + name;
    out_ += fmt::format("{}%{}: {}", i == 0 ? "" : ", ", name, mlir_type(parameter.shape));
    out_ += discardable(computation, parameter, name, nullptr);
  }
}

void StablehloPrinter::print_function(ComputationId id) {
  const Computation& computation = module_.at(id);
  taken_.clear();
  taken_in_order_.clear();
  Names names(computation.instructions.size());
  out_ += fmt::format("  func.func {} {}(", id == module_.entry ? "public" : "private",
                      mlir_symbol(computation.name));
  print_parameters(computation, names);
  const std::string result = mlir_type(computation.root_instruction().shape);
  out_ += fmt::format(") -> {} ", result);
  if (!computation.execution_thread.empty()) {
    out_ += fmt::format("attributes {{{} = {}}} ", kThreadAttribute,
                        mlir_string(computation.execution_thread));
  }
  out_ += "{\n";
  print_body(id, names, "    ");
  out_ += fmt::format("    return {} : {}\n  }}\n", names[computation.root.index()], result);
}

std::string StablehloPrinter::print() {
  out_ = fmt::format("module {} attributes {{{} = {}}} {{\n", mlir_symbol(module_.name),
                     kModuleAttribute, mlir_string(print_hlo_header(module_)));
  std::vector<bool> needed(module_.computations.size(), false);
  needed[module_.entry.index()] = true;
  for (std::size_t i = module_.computations.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Instruction& instruction : module_.computations[i].instructions) {
      if (has_regions(instruction, form_of(module_.computations[i], instruction))) continue;
      for (const ComputationId id : instruction.called) needed[id.index()] = true;
    }
  }
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) print_function(ComputationId(i));
  }
  return out_ + "}\n";
}

}  // namespace
}  // namespace stablehlo

std::string print_stablehlo(const Module& module) {
  return stablehlo::StablehloPrinter(module).print();
}

}  // namespace tilecast::ir

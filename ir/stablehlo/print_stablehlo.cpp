// Module -> StableHLO text (ir/stablehlo/conventions.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "ir/stablehlo/conventions.h"
#include "ir/stablehlo/print_bodies.h"
#include "ir/stablehlo/print_values.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/stablehlo/stablehlo_printer.h"
#include "ir/text/hlo_printer.h"
#include "ir/text/print_attributes.h"

namespace tilecast::ir {
namespace stablehlo {
namespace {

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

// Opcodes whose tuples are tuples in StableHLO too; other tuples are several values there.
bool has_tuple_type(Opcode opcode) {
  using enum Opcode;
  return is_one_of(opcode, {kTuple, kGetTupleElement, kCustomCall, kCall});
}
bool has_several(const Instruction& instruction, const OpForm* form) {
  return form != nullptr && instruction.shape.is_tuple() && !has_tuple_type(instruction.opcode);
}
// Opcodes whose one operand is several in StableHLO where it is a tuple.
bool takes_elements(Opcode opcode) {
  return is_one_of(opcode, {Opcode::kWhile, Opcode::kOptBarrier});
}
bool is_predicated(const OpSite& site) {
  return site.operand_shape(0).dtype == DType::kPred;
}
// Whether the form can say the op's values and attributes; nothing about its regions.
bool fits(const OpForm& form, const Computation& computation, const Instruction& instruction) {
  if (has_several(instruction, &form) && !splits(instruction.shape)) return false;
  return form.body(OpSite{computation, instruction, {}}).has_value();
}
std::string fallback_name(Opcode opcode) {
  std::string text = fmt::format("{}{}", kFallbackDialect, name(opcode));
  std::ranges::replace(text, '-', '_');
  return text;
}

}  // namespace

StablehloPrinter::StablehloPrinter(const Module& module)
    : module_(module),
      plan_(plan_printing(module)),
      calls_(module.computations.size()),
      regions_(module.computations.size()) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      for (const ComputationId id : instruction.called) ++calls_[id.index()];
    }
  }
}

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
    if (key == "replica_groups" && !is_written_out(instruction)) return false;
    return contains_key(holds, key) || key == "control-predecessors" ||
           (key == "metadata" && in_location);
  });
  return fmt::format("{}", fmt::join(kept, ", "));
}

// The names of computations that are regions, and what the arguments of reducers have beside a
// type.
void StablehloPrinter::add_regions(const Instruction& instruction,
                                   std::vector<std::string>& items) {
  std::vector<std::string> names, arguments;
  bool any = false;
  for (const ComputationId id : instruction.called) {
    const Computation& computation = module_.at(id);
    names.push_back(mlir_string(computation.name));
    if (is_one_of(instruction.opcode, {Opcode::kWhile, Opcode::kConditional})) continue;
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
                                          const OpForm* form, std::string_view mark) {
  constexpr std::string_view kCallees =
      "calls,to_apply,condition,body,select,scatter,true_computation,false_computation,"
      "branch_computations,called_computations";
  const bool is_argument = instruction.opcode == Opcode::kParameter && mark.empty();
  std::vector<std::string> items;
  if (!mark.empty()) items.emplace_back(mark);
  if (has_regions(instruction, form)) add_regions(instruction, items);
  const auto add = [&](std::string_view key, std::string_view text) {
    items.push_back(fmt::format("{} = {}", key, mlir_string(text)));
  };
  if (name != instruction.name) add(kNameAttribute, instruction.name);
  const std::string others =
      other_attributes(computation, instruction, form != nullptr ? form->holds : kCallees);
  if (!others.empty()) add(kHloAttributes, others);
  const auto add_names = [&](std::string_view key, std::span<const InstrId> ids) {
    std::vector<std::string> names;
    for (const InstrId id : ids) names.push_back(mlir_string(computation.at(id).name));
    if (!ids.empty()) items.push_back(fmt::format("{} = [{}]", key, fmt::join(names, ", ")));
  };
  add_names(kAfterAttribute, *instruction.control_predecessors);
  if (form != nullptr && form->opcode == Opcode::kConditional) {
    add_names(kOperandsAttribute, std::span(instruction.operands).subspan(1));
  }
  if (!is_plain(instruction.shape)) {
    add(is_argument ? kArgumentShapeAttribute : kShapeAttribute, to_string(instruction.shape));
  }
  return items.empty() ? "" : fmt::format(" {{{}}}", fmt::join(items, ", "));
}

void StablehloPrinter::print_types(const OpSite& site, const OpForm* form) {
  const Shape& shape = site.instruction.shape;
  std::vector<std::string> types;
  for (std::size_t i = 0; i < site.instruction.operands.size(); ++i) {
    const bool is_captured = form != nullptr && i > 0 && form->opcode == Opcode::kConditional;
    if (is_captured) break;
    const bool apart = form != nullptr && takes_elements(site.instruction.opcode);
    for (std::string& type : mlir_types(site.operand_shape(i), apart)) {
      types.push_back(std::move(type));
    }
  }
  const std::vector<std::string> results = mlir_types(shape, has_several(site.instruction, form));
  const bool short_form =
      form != nullptr && form->style == OpForm::Style::kElementwise &&
      std::ranges::all_of(types, [&](const std::string& type) { return type == results.front(); });
  if (short_form) {
    out_ += " : " + results.front();
  } else if (results.size() == 1) {
    out_ += fmt::format(" : ({}) -> {}", fmt::join(types, ", "), results.front());
  } else {
    out_ += fmt::format(" : ({}) -> ({})", fmt::join(types, ", "), fmt::join(results, ", "));
  }
}

const OpForm* StablehloPrinter::form_of(const Computation& computation,
                                        const Instruction& instruction) {
  using enum Opcode;
  const OpForm* form = find_form(instruction.opcode);
  if (form == nullptr || instruction.opcode == kCall) return form;
  if (is_one_of(instruction.opcode, {kWhile, kConditional})) {
    return is_control(instruction) ? form : nullptr;
  }
  if (has_regions(instruction, form) && !is_region(instruction)) return nullptr;
  return fits(*form, computation, instruction) ? form : nullptr;
}

void StablehloPrinter::print_native(const OpSite& site, const OpForm& form,
                                    const std::string& others, std::span<const Names> captured,
                                    std::string_view indent) {
  const std::string body = *form.body(site);
  if (form.opcode == Opcode::kCall) {
    out_ += fmt::format("{} {}({}){}", form.name,
                        mlir_symbol(module_.at(site.instruction.called[0]).name), body, others);
  } else if (form.opcode == Opcode::kConstant) {  // the only op that has them in front
    out_ += fmt::format("{}{} {}", form.name, others, body);
  } else if (form.style != OpForm::Style::kGeneric) {
    out_ += fmt::format("{}{}{}{}", form.name, body.empty() ? "" : " ", body, others);
  } else {
    const bool is_if = form.opcode == Opcode::kConditional && is_predicated(site);
    out_ += fmt::format("\"{}\"({})", is_if ? "stablehlo.if" : form.name, site.operands);
    if (!body.empty()) out_ += fmt::format(" <{{{}}}>", body);
    if (is_one_of(form.opcode, {Opcode::kWhile, Opcode::kConditional})) {
      print_control_regions(site.instruction, captured, indent);
    } else if (has_regions(site.instruction, &form)) {
      print_regions(site.instruction, indent);
    }
    out_ += others;
  }
}

void StablehloPrinter::print_fallback(const OpSite& site) {
  out_ += fmt::format("\"{}\"({})", fallback_name(site.instruction.opcode), site.operands);
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
  const OpForm* form = form_of(computation, instruction);
  Names operands;
  for (const InstrId operand : instruction.operands) operands.push_back(names[operand.index()]);
  std::vector<Names> captured;  // by region
  if (form != nullptr && form->opcode == Opcode::kConditional) {
    for (std::size_t i = 1; i < operands.size(); ++i) {
      const Shape& shape = computation.at(instruction.operands[i]).shape;
      captured.push_back(unpack(operands[i], shape, indent));
    }
    operands.resize(1);
  } else if (form != nullptr && takes_elements(instruction.opcode)) {
    operands = unpack(operands.front(), computation.at(instruction.operands[0]).shape, indent);
  }
  const OpSite site{computation, instruction, fmt::format("{}", fmt::join(operands, ", "))};
  const std::string name = fresh_name(instruction.name);
  const bool several = has_several(instruction, form);
  const std::string count = several ? fmt::format(":{}", instruction.shape.elements.size()) : "";
  const std::string others = discardable(computation, instruction, name, form);
  out_ += fmt::format("{}%{}{} = ", indent, name, count);
  if (form != nullptr) {
    print_native(site, *form, others, captured, indent);
  } else {
    print_fallback(site);
    out_ += others;
  }
  if (form != nullptr && form->style == OpForm::Style::kResult) {
    out_ += " : " + mlir_type(instruction.shape);
  } else {
    print_types(site, form);
  }
  const std::string_view op_name = only_op_name(instruction.metadata);
  if (!op_name.empty()) out_ += fmt::format(" loc({})", op_name);
  out_ += '\n';
  names[id.index()] = several ? pack(name, instruction.shape, indent) : "%" + name;
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
  const std::vector<bool> needed = needed_functions();
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) print_function(ComputationId(i));
  }
  return out_ + "}\n";
}

}  // namespace stablehlo

std::string print_stablehlo(const Module& module) {
  return stablehlo::StablehloPrinter(module).print();
}

PrintedOp printed_op(const Computation& computation, const Instruction& instruction) {
  const stablehlo::OpForm* form = stablehlo::find_form(instruction.opcode);
  if (form == nullptr || !stablehlo::fits(*form, computation, instruction)) {
    return {.name = stablehlo::fallback_name(instruction.opcode)};
  }
  return {.name = std::string(form->name),
          .several = stablehlo::has_several(instruction, form),
          .regions = stablehlo::has_regions(instruction, form)};
}

std::string printed_type(const Shape& shape) {
  return stablehlo::mlir_type(shape);
}

}  // namespace tilecast::ir

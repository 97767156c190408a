// Module -> StableHLO text.
//
// Computations become functions or regions of ops. If HLO has one tuple value where StableHLO has
// several values, the tuple is unpacked before the op and packed again after it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "ir/stablehlo/print_bodies.h"
#include "ir/stablehlo/stablehlo.h"
#include "ir/text/hlo_lexer.h"
#include "ir/text/print_order.h"

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

// The op_name, with its quotes, if metadata contains nothing else.
std::string_view only_op_name(std::string_view metadata) {
  constexpr std::string_view kKey = "op_name=";
  if (!metadata.starts_with(kKey)) return {};
  const std::string_view quoted = metadata.substr(kKey.size());
  const bool simple = quoted.size() > 2 && quoted.find('"', 1) == quoted.size() - 1 &&
                      quoted.find('\\') == std::string_view::npos;
  return simple ? quoted : std::string_view();
}

// Null if StableHLO has no such op.
const OpForm* find_form(Opcode opcode) {
  const OpForm& form = op_row(opcode).form;
  return form.body == nullptr ? nullptr : &form;
}
// The name in a dialect that spells it as HLO does.
std::string name_in(std::string_view dialect, Opcode opcode) {
  std::string text = fmt::format("{}.{}", dialect, name(opcode));
  std::ranges::replace(text, '-', '_');
  return text;
}
std::string form_name(Opcode opcode) {
  const std::string_view own = op_row(opcode).form.name;
  return own.empty() ? name_in("stablehlo", opcode) : std::string(own);
}

// Opcodes whose tuples are tuples in StableHLO too; for others they become several values.
bool has_tuple_type(Opcode opcode) {
  using enum Opcode;
  return is_one_of(opcode, {kTuple, kGetTupleElement, kCustomCall, kCall});
}
bool has_several(const Instruction& instruction, const OpForm* form) {
  return form != nullptr && instruction.shape.is_tuple() && !has_tuple_type(instruction.opcode);
}
// Opcodes whose tuple operand becomes several operands in StableHLO.
bool takes_elements(Opcode opcode) {
  return is_one_of(opcode, {Opcode::kWhile, Opcode::kOptBarrier});
}
bool is_predicated(const OpSite& site) {
  return site.operand_shape(0).dtype == DType::kPred;
}
// Whether the form can express the op's values and attributes; regions are not considered.
bool fits(const OpForm& form, const Computation& computation, const Instruction& instruction) {
  if (has_several(instruction, &form) && !splits(instruction.shape)) return false;
  return form.body(OpSite{computation, instruction, {}}).has_value();
}
bool may_be_operand(Opcode opcode) {
  return is_one_of(opcode, {Opcode::kBitcast, Opcode::kCopy, Opcode::kOptBarrier});
}

// `{mhlo.sharding = "..."}`, the only HLO attribute that is kept besides the op's own.
std::string discardable(const Instruction& instruction) {
  const std::string* sharding = instruction.find_raw("sharding");
  return sharding == nullptr ? "" : fmt::format(" {{mhlo.sharding = {}}}", mlir_string(*sharding));
}

// The raw HLO text; strings without their quotes.
std::string configuration(const std::string& raw) {
  const bool quoted = raw.size() > 1 && raw.front() == '"' && raw.back() == '"';
  return mlir_string(quoted ? unescape(raw.substr(1, raw.size() - 2)) : raw);
}

// Whether the computations called by `instruction`, which is printed in `form`, become regions of
// the op.
bool has_regions(const Instruction& instruction, const OpForm* form) {
  return form != nullptr && !instruction.called.empty() &&
         !is_one_of(instruction.opcode, {Opcode::kCall, Opcode::kCustomCall});
}

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

class StablehloPrinter {
 public:
  explicit StablehloPrinter(const Module& module);
  std::string print();

 private:
  using Names = std::vector<std::string>;  // by InstrId, including the `%`

  void print_function(ComputationId id);
  void print_body(ComputationId id, Names& names, std::string_view indent);
  void print_instruction(const Computation& computation, InstrId id, Names& names,
                         std::string_view indent);
  void print_native(const OpSite& site, const OpForm& form, std::span<const Names> captured,
                    std::string_view indent);
  void print_custom_call(const OpSite& site);
  void print_types(const OpSite& site, const OpForm* form);
  [[nodiscard]] std::string symbol(ComputationId id) const;
  std::string fresh_name(std::string_view name);
  // `instruction` with fusions and asynchronous starts replaced by calls.
  [[nodiscard]] Instruction plain(const Computation& computation,
                                  const Instruction& instruction) const;
  // Null if the instruction (a result of plain()) is printed as a custom call.
  const OpForm* form_of(const Computation& computation, const Instruction& instruction);

  // The computations that are printed as functions: all that are called other than as regions.
  [[nodiscard]] std::vector<bool> needed_functions();
  [[nodiscard]] bool is_region(const Instruction& instruction);
  [[nodiscard]] bool is_control(const Instruction& instruction) const;
  [[nodiscard]] bool fits_region(const Computation& computation) const;
  // Whether several ops call the computation, so that regions call a function instead of containing
  // its body.
  [[nodiscard]] bool is_shared(ComputationId id) const { return calls_[id.index()] != 1; }
  void print_regions(const Instruction& instruction, std::string_view indent);
  // `captured`: for each branch, the values from which its parameter is built; unused for loops,
  // whose regions have arguments.
  void print_control_regions(const Instruction& instruction, std::span<const Names> captured,
                             std::string_view indent);
  void print_control_body(ComputationId id, const Names& elements, std::string_view indent);
  void print_return(const std::string& value, const Shape& shape, std::string_view indent);
  void forget_names(std::size_t outside);  // all but the first `outside`
  // The names of the leaves of the tuple `value`, or of the value itself.
  Names unpack(const std::string& value, const Shape& shape, std::string_view indent);
  // Packs the next of `leaves` into one value of `shape` and returns its name, for a tuple derived
  // from `name`.
  std::string pack(std::string_view name, const Shape& shape, std::span<const std::string>& leaves,
                   std::string_view indent);

  const Module& module_;
  PrintPlan plan_;
  std::vector<int> calls_;                    // number of calls of each computation
  std::vector<std::optional<bool>> regions_;  // by computation: whether it can be a region
  std::unordered_set<std::string> taken_;     // names used in the current function
  std::vector<std::string> taken_in_order_;
  std::unordered_map<std::string, Names> parts_;  // of the tuples packed so far
  std::string out_;
};

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

std::string StablehloPrinter::symbol(ComputationId id) const {
  if (id == module_.entry) return "@main";
  const std::string& name = module_.at(id).name;
  return mlir_symbol(name == "main" ? "main.called" : name);
}

Instruction StablehloPrinter::plain(const Computation& computation,
                                    const Instruction& instruction) const {
  using enum Opcode;
  Instruction made = instruction;
  const auto become = [&](Opcode opcode, std::size_t element) {
    made.opcode = opcode;
    if (element < instruction.shape.elements.size())
      made.shape = instruction.shape.elements[element];
  };
  const Shape* from =
      instruction.operands.empty() ? nullptr : &computation.at(instruction.operands[0]).shape;
  switch (instruction.opcode) {
    case kAllGatherStart:
    case kCollectivePermuteStart:
      become(info(instruction.opcode).plain, 1);
      break;
    case kAsyncStart:
      become(kCall, 1);
      break;
    case kFusion:
      made.opcode = kCall;
      made.operands.resize(module_.at(instruction.called[0]).parameters.size());
      break;
    case kBitcast:
      if (!from->is_array()) break;
      if (from->dtype != instruction.shape.dtype) {
        made.opcode = kBitcastConvert;
      } else if (element_count(*from) == element_count(instruction.shape)) {
        made.opcode = kReshape;
      }
      break;
    case kCopy:
      if (from->is_array() && from->dtype != instruction.shape.dtype) made.opcode = kConvert;
      break;
    default:
      made.opcode = info(instruction.opcode).plain;
      break;
  }
  return made;
}

const OpForm* StablehloPrinter::form_of(const Computation& computation,
                                        const Instruction& instruction) {
  using enum Opcode;
  const OpForm* form = find_form(instruction.opcode);
  const bool always = is_one_of(instruction.opcode, {kCall, kSelect, kClamp});
  if (form == nullptr || always) return form;
  if (instruction.opcode == kConstant) return instruction.shape.is_array() ? form : nullptr;
  if (is_one_of(instruction.opcode, {kWhile, kConditional})) {
    return is_control(instruction) ? form : nullptr;
  }
  if (has_regions(instruction, form) && !is_region(instruction)) return nullptr;
  return fits(*form, computation, instruction) ? form : nullptr;
}

void StablehloPrinter::print_types(const OpSite& site, const OpForm* form) {
  const Shape& shape = site.instruction.shape;
  std::vector<std::string> types;
  for (std::size_t i = 0; i < site.instruction.operands.size(); ++i) {
    const bool is_captured =
        form != nullptr && i > 0 && site.instruction.opcode == Opcode::kConditional;
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

void StablehloPrinter::print_native(const OpSite& site, const OpForm& form,
                                    std::span<const Names> captured, std::string_view indent) {
  const Opcode opcode = site.instruction.opcode;
  const std::string name = form_name(opcode);
  const bool is_constant = opcode == Opcode::kConstant;
  const std::string others = discardable(site.instruction);
  // Selectors may be scalars; constants that MLIR cannot express lose their values.
  const std::string body =
      form.body(site).value_or(is_constant ? "dense_resource<__elided__>" : site.operands);
  if (opcode == Opcode::kCall) {
    out_ += fmt::format("{} {}({}){}", name, symbol(site.instruction.called[0]), body, others);
  } else if (is_constant) {  // the only op with its attributes in front
    out_ += fmt::format("{}{} {}", name, others, body);
  } else if (form.style != OpForm::Style::kGeneric) {
    out_ += fmt::format("{}{}{}{}", name, body.empty() ? "" : " ", body, others);
  } else {
    const bool is_if = opcode == Opcode::kConditional && is_predicated(site);
    const std::string& config = *site.instruction.backend_config;
    out_ += fmt::format("\"{}\"({})", is_if ? "stablehlo.if" : name, site.operands);
    if (opcode == Opcode::kCustomCall && !config.empty()) {
      out_ += fmt::format(" <{{backend_config = {}, {}}}>", configuration(config), body);
    } else if (!body.empty()) {
      out_ += fmt::format(" <{{{}}}>", body);
    }
    if (is_control_flow(opcode)) {
      print_control_regions(site.instruction, captured, indent);
    } else if (has_regions(site.instruction, &form)) {
      print_regions(site.instruction, indent);
    }
    out_ += others;
  }
}

void StablehloPrinter::print_custom_call(const OpSite& site) {
  const auto* attrs = site.instruction.get<CustomCallAttrs>();
  const std::string target =
      attrs != nullptr ? attrs->target : name_in("mhlo", site.instruction.opcode);
  out_ += fmt::format("\"stablehlo.custom_call\"({}) <{{call_target_name = {}", site.operands,
                      mlir_string(target));
  std::vector<std::string> called;
  for (const ComputationId id : site.instruction.called) called.push_back(symbol(id));
  if (!called.empty()) out_ += fmt::format(", called_computations = [{}]", fmt::join(called, ", "));
  out_ += "}>" + discardable(site.instruction);
}

void StablehloPrinter::print_instruction(const Computation& computation, InstrId id, Names& names,
                                         std::string_view indent) {
  const Instruction& written = computation.at(id);
  const Instruction instruction = plain(computation, written);
  const OpForm* form = form_of(computation, instruction);
  const auto operand_type = [&] { return mlir_type(computation.at(written.operands[0]).shape); };
  const bool is_operand =
      op_row(written.opcode).form.style == OpForm::Style::kOperand ||
      (may_be_operand(written.opcode) && operand_type() == mlir_type(written.shape) &&
       (form == nullptr || written.opcode != Opcode::kOptBarrier));
  if (is_operand) {
    names[id.index()] = names[written.operands[0].index()];
    return;
  }
  Names operands;
  for (const InstrId operand : instruction.operands) operands.push_back(names[operand.index()]);
  std::vector<Names> captured;  // by region
  if (form != nullptr && instruction.opcode == Opcode::kConditional) {
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
  const std::size_t count = mlir_types(instruction.shape, has_several(instruction, form)).size();
  out_ += fmt::format("{}%{}{} = ", indent, name, count > 1 ? fmt::format(":{}", count) : "");
  form != nullptr ? print_native(site, *form, captured, indent) : print_custom_call(site);
  if (form != nullptr && form->style == OpForm::Style::kResult) {
    out_ += " : " + mlir_type(instruction.shape);
  } else {
    print_types(site, form);
  }
  const std::string_view op_name = only_op_name(instruction.metadata);
  if (!op_name.empty()) out_ += fmt::format(" loc({})", op_name);
  out_ += '\n';
  names[id.index()] = "%" + name;
  if (instruction.opcode == Opcode::kTuple) parts_[names[id.index()]] = operands;
  if (!has_several(instruction, form)) return;
  Names results;
  for (std::size_t i = 0; i < count; ++i) {
    results.push_back(count > 1 ? fmt::format("%{}#{}", name, i) : "%" + name);
  }
  std::span<const std::string> leaves = results;
  names[id.index()] = pack(name + "_all", instruction.shape, leaves, indent);
}

void StablehloPrinter::print_body(ComputationId id, Names& names, std::string_view indent) {
  const Computation& computation = module_.at(id);
  for (const InstrId instruction : plan_.instructions[id.index()]) {
    if (computation.at(instruction).opcode == Opcode::kParameter) continue;
    print_instruction(computation, instruction, names, indent);
  }
}

void StablehloPrinter::print_function(ComputationId id) {
  const Computation& computation = module_.at(id);
  taken_.clear();
  taken_in_order_.clear();
  parts_.clear();
  Names names(computation.instructions.size());
  out_ += fmt::format("  func.func {} {}(", id == module_.entry ? "public" : "private", symbol(id));
  for (std::size_t i = 0; i < computation.parameters.size(); ++i) {
    const Instruction& parameter = computation.at(computation.parameters[i]);
    std::string& name = names[computation.parameters[i].index()];
    name = "%" + fresh_name(parameter.name);
    out_ += fmt::format("{}{}: {}{}", i == 0 ? "" : ", ", name, mlir_type(parameter.shape),
                        discardable(parameter));
  }
  const std::string result = mlir_type(computation.root_instruction().shape);
  out_ += fmt::format(") -> {} {{\n", result);
  print_body(id, names, "    ");
  out_ += fmt::format("    return {} : {}\n  }}\n", names[computation.root.index()], result);
}

std::string StablehloPrinter::print() {
  for (const Computation& computation : module_.computations) {
    for (const Instruction& instruction : computation.instructions) {
      for_each_leaf(instruction.shape, [&](const Shape& leaf) {
        if (is_value(leaf)) return;
        throw Error(fmt::format("instruction {}: StableHLO has no type for {}; HLO text has",
                                instruction.name, to_string(leaf)));
      });
    }
  }
  out_ = fmt::format(
      "module {} attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = {} : i32}} {{\n",
      mlir_symbol(module_.name), module_.num_partitions, module_.replica_count);
  const std::vector<bool> needed = needed_functions();
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) print_function(ComputationId(i));
  }
  return out_ + "}\n";
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
      for (const ComputationId id : instruction.called) {
        reached[id.index()] = true;
        if (!has_regions(made, form) || (is_control_flow(made.opcode) && is_shared(id)))
          needed[id.index()] = true;
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

}  // namespace
}  // namespace stablehlo

std::string print_stablehlo(const Module& module) {
  return stablehlo::StablehloPrinter(module).print();
}

PrintedOp printed_op(const Computation& computation, const Instruction& instruction) {
  const stablehlo::OpForm* form = stablehlo::find_form(instruction.opcode);
  if (form == nullptr || !stablehlo::fits(*form, computation, instruction)) {
    return {.name = stablehlo::name_in("mhlo", instruction.opcode)};
  }
  return {.name = stablehlo::form_name(instruction.opcode),
          .several = stablehlo::has_several(instruction, form),
          .regions = stablehlo::has_regions(instruction, form)};
}

std::string printed_type(const Shape& shape) {
  return stablehlo::mlir_type(shape);
}

}  // namespace tilecast::ir

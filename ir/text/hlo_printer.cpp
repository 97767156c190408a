#include "ir/text/hlo_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "ir/ops/op_row.h"
#include "ir/text/attribute_readers.h"
#include "ir/text/hlo_lexer.h"
#include "ir/text/print_order.h"

namespace tilecast::ir {
namespace {

template <class Item, class Append>
std::string join(const std::vector<Item>& items, std::string_view separator, Append&& append) {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += separator;
    append(out, items[i]);
  }
  return out;
}

std::string braces(const Dims& values) {
  return fmt::format("{{{}}}", fmt::join(values, ","));
}

// ` key=1x2` unless every dimension has the default.
template <class Differs, class Append>
void append_window_item(std::string& out, std::string_view key, const Window& window,
                        Differs&& differs, Append&& append) {
  if (!std::any_of(window.begin(), window.end(), differs)) return;
  out += ' ';
  out += key;
  out += '=';
  out += join(window, "x", append);
}

void append_window_number(std::string& out, std::string_view key, const Window& window,
                          std::int64_t WindowDim::*field) {
  append_window_item(
      out, key, window, [field](const WindowDim& dim) { return dim.*field != 1; },
      [field](std::string& text, const WindowDim& dim) { text += std::to_string(dim.*field); });
}

// `{{0}: (1, {}), ...}` without the outer braces.
void append_aliases(std::string& out, const std::vector<Alias>& aliases, bool with_kind) {
  out += join(aliases, ", ", [with_kind](std::string& text, const Alias& alias) {
    text += fmt::format("{}: ({}, {}", braces(alias.output_index), alias.operand,
                        braces(alias.operand_index));
    if (with_kind) text += alias.must_alias ? ", must-alias" : ", may-alias";
    text += ')';
  });
}

}  // namespace

std::string to_string(const Window& window) {
  std::string out = "{";
  if (window.empty()) return out + '}';
  out += "size=" + join(window, "x", [](std::string& text, const WindowDim& dim) {
           text += std::to_string(dim.size);
         });
  append_window_number(out, "stride", window, &WindowDim::stride);
  append_window_item(
      out, "pad", window,
      [](const WindowDim& dim) { return dim.pad_low != 0 || dim.pad_high != 0; },
      [](std::string& text, const WindowDim& dim) {
        text += fmt::format("{}_{}", dim.pad_low, dim.pad_high);
      });
  append_window_number(out, "lhs_dilate", window, &WindowDim::base_dilation);
  append_window_number(out, "rhs_dilate", window, &WindowDim::window_dilation);
  append_window_item(
      out, "rhs_reversal", window, [](const WindowDim& dim) { return dim.reversal; },
      [](std::string& text, const WindowDim& dim) { text += dim.reversal ? '1' : '0'; });
  return out + '}';
}

std::string to_string(const std::vector<PadDim>& padding) {
  const bool has_interior = std::any_of(padding.begin(), padding.end(),
                                        [](const PadDim& dim) { return dim.interior != 0; });
  return join(padding, "x", [has_interior](std::string& text, const PadDim& dim) {
    text += fmt::format("{}_{}", dim.low, dim.high);
    if (has_interior) text += fmt::format("_{}", dim.interior);
  });
}

std::string to_string(const ReplicaGroups& groups) {
  if (groups.text.starts_with('[') || groups.text.starts_with("mesh")) return groups.text;
  const auto append_group = [](std::string& text, const std::vector<std::int64_t>& group) {
    text += fmt::format("{{{}}}", fmt::join(group, ","));
  };
  return "{" + join(groups.groups, ",", append_group) + "}";
}

// ---- attributes
// ----------------------------------------------------------------------------------

namespace {

// Kept as raw text, but printed after the attributes of the opcode.
constexpr std::array<std::string_view, 6> kCommonKeys = {
    "is_composite", "sharding", "frontend_attributes", "statistics", "result_accuracy", "origin"};

// The default comparison for operands of this type.
std::string_view default_comparison(DType dtype) {
  if (is_signed_integer(dtype)) return "SIGNED";
  if (is_unsigned_integer(dtype) || dtype == DType::kPred) return "UNSIGNED";
  return "FLOAT";
}

void put(std::string& out, std::string_view key, std::string_view value) {
  out += ", ";
  out += key;
  out += '=';
  out += value;
}

}  // namespace

namespace attribute {

std::string list(const Dims& values) {
  return fmt::format("{{{}}}", fmt::join(values, ","));
}

std::string write_kept(const Computation&, const Instruction& instruction, Key key) {
  const std::string* value = instruction.find_raw(key);
  return value == nullptr ? "" : *value;
}

std::string write_dimensions(const Computation&, const Instruction& instruction, Key) {
  const bool optional = instruction.get<CollectiveAttrs>() != nullptr;
  return optional && instruction.dimensions.empty() ? "" : list(instruction.dimensions);
}

std::string write_window(const Computation&, const Instruction& instruction, Key) {
  const auto* conv = instruction.get<ConvAttrs>();
  const auto* custom = instruction.get<CustomCallAttrs>();
  const auto* plain = instruction.get<WindowAttrs>();
  const Window none;
  const Window& window = conv != nullptr     ? conv->window
                         : custom != nullptr ? custom->window
                         : plain != nullptr  ? plain->window
                                             : none;
  return window.empty() ? "" : to_string(window);
}

std::string write_dim_labels(const Computation&, const Instruction& instruction, Key) {
  if (const auto* conv = instruction.get<ConvAttrs>()) return conv->dims.text;
  const auto* custom = instruction.get<CustomCallAttrs>();
  return custom != nullptr && custom->dims ? custom->dims->text : "";
}

std::string write_precision(const Computation& computation, const Instruction& instruction,
                            Key key) {
  const auto* dot = instruction.get<DotAttrs>();
  const auto* conv = instruction.get<ConvAttrs>();
  if (dot == nullptr && conv == nullptr) return write_kept(computation, instruction, key);
  const std::vector<std::string>& words = dot != nullptr ? dot->precision : conv->precision;
  const bool plain = std::ranges::all_of(words, [](const auto& word) { return word == "default"; });
  return plain ? "" : fmt::format("{{{}}}", fmt::join(words, ","));
}

std::string write_aliasing(const Computation&, const Instruction& instruction, Key) {
  if (instruction.aliasing->empty()) return {};
  std::string text = "{";
  append_aliases(text, *instruction.aliasing, /*with_kind=*/false);
  return text + "}";
}

std::string write_fusion_kind(const Computation&, const Instruction& instruction, Key) {
  constexpr std::array<std::string_view, 4> kKinds = {"kLoop", "kInput", "kOutput", "kCustom"};
  return std::string(kKinds[static_cast<std::size_t>(held<FusionAttrs>(instruction).kind)]);
}

std::string write_comparison(const Computation& computation, const Instruction& instruction, Key) {
  const std::string& type = held<CompareAttrs>(instruction).type;
  if (type.empty() || instruction.operands.empty()) return {};
  const DType dtype = computation.at(instruction.operands.front()).shape.dtype;
  return type == default_comparison(dtype) ? "" : type;
}

std::string write_slices(const Computation&, const Instruction& instruction, Key) {
  const std::vector<SliceDim>& dims = held<SliceAttrs>(instruction).dims;
  const bool strided = std::ranges::any_of(dims, [](const auto& dim) { return dim.stride != 1; });
  std::string text;
  for (const SliceDim& dim : dims) {
    text += fmt::format("{}[{}:{}", text.empty() ? "" : ", ", dim.start, dim.limit);
    text += strided ? fmt::format(":{}]", dim.stride) : "]";
  }
  return "{" + text + "}";
}

std::string write_groups(const Computation&, const Instruction& instruction, Key) {
  return to_string(held<CollectiveAttrs>(instruction).groups);
}

std::string write_pairs(const Computation&, const Instruction& instruction, Key) {
  std::string pairs;
  for (const auto& [source, target] : held<CollectiveAttrs>(instruction).source_target_pairs) {
    pairs += fmt::format("{}{{{},{}}}", pairs.empty() ? "" : ",", source, target);
  }
  return "{" + pairs + "}";
}

std::string write_thread(const Computation&, const Instruction& instruction, Key) {
  const std::string& thread = held<AsyncAttrs>(instruction).execution_thread;
  const bool starts = starts_asynchronously(instruction.opcode);
  return starts && thread_name(thread) != "main" ? fmt::format("\"{}\"", thread) : "";
}

}  // namespace attribute

namespace {

// Only the attributes of the opcode, in XLA's order, which is that of the rows, and then unknown
// ones; no called computations.
void append_opcode_attributes(std::string& out, const Computation& computation,
                              const Instruction& instruction) {
  if (const auto* parameter = instruction.get<ParameterAttrs>();
      parameter != nullptr && !parameter->replication.empty()) {
    put(out, "parameter_replication", parameter->replication);
  }
  const auto rows = attributes_for(instruction.opcode, /*predicated=*/false);
  for (const AttributeRow& row : rows) {
    if (row.write == nullptr) continue;
    const std::string value = row.write(computation, instruction, row.key);
    if (!value.empty()) put(out, row.key, value);
  }
  for (const RawAttr& attr : *instruction.raw) {
    const bool known = std::ranges::find(rows, attr.key, &AttributeRow::key) != rows.end();
    if (known || std::ranges::find(kCommonKeys, attr.key) != kCommonKeys.end()) continue;
    put(out, attr.key, attr.value);
  }
}

// Prints the attributes that name computations and those common to all instructions.
class CommonAttributes {
 public:
  CommonAttributes(std::string& out, const Module& module, const PrintOptions& options)
      : out_(out), module_(module), options_(options) {}

  // Computations in the order of the opcode's attributes that name them.
  void write_called(const Computation& computation, const Instruction& instruction) {
    const auto& called = instruction.called;
    if (called.empty()) return;
    const bool predicated = selects_by_predicate(computation, instruction);
    for (const AttributeRow& row : attributes_for(instruction.opcode, predicated)) {
      if (row.callee == AttributeRow::kAllCallees) put_list(row.key, called);
      if (row.callee < 0 || static_cast<std::size_t>(row.callee) >= called.size()) continue;
      begin(row.key);
      append_name(module_.at(called[static_cast<std::size_t>(row.callee)]).name);
    }
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

// Each as `, key=value`, in the order of XLA's printer: those of the opcode, called computations,
// then those common to all instructions. `wrapped`: the instruction wrapped by an async-start that
// is printed as `<op>-start`, or null.
void append_attributes(std::string& out, const Module& module, const Computation& computation,
                       const Instruction& instruction, const Instruction* wrapped,
                       const PrintOptions& options) {
  append_opcode_attributes(out, computation, instruction);
  CommonAttributes common(out, module, options);
  if (wrapped != nullptr && starts_asynchronously(instruction.opcode)) {
    const Computation& inner = module.at(instruction.called.front());
    append_opcode_attributes(out, inner, *wrapped);
    common.write_called(inner, *wrapped);
  } else {
    common.write_called(computation, instruction);
  }
  common.write_common(computation, instruction);
}

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
  append_name(instruction.name);
  out_ += " = ";
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
  if (!options_.short_form) {
    out_ += to_string(operand.shape);
    out_ += ' ';
  }
  append_name(operand.name);
}

}  // namespace

std::string print_hlo(const Module& module, const PrintOptions& options) {
  return Printer(module, options).print_module();
}

}  // namespace tilecast::ir

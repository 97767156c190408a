// Prints the opcode's attributes in XLA's order, which is that of the rows of attribute_table.cpp,
// then unknown ones.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/text/attribute_readers.h"
#include "ir/text/attribute_table.h"
#include "ir/text/print_attributes.h"

namespace tilecast::ir {
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

std::string write_pairs(const Computation&, const Instruction& instruction, Key) {
  std::string pairs;
  for (const auto& [source, target] : held<CollectiveAttrs>(instruction).source_target_pairs) {
    pairs += fmt::format("{}{{{},{}}}", pairs.empty() ? "" : ",", source, target);
  }
  return "{" + pairs + "}";
}

std::string write_thread(const Computation&, const Instruction& instruction, Key) {
  const std::string& thread = held<AsyncAttrs>(instruction).execution_thread;
  const bool starts = instruction.opcode == Opcode::kAsyncStart;
  return starts && thread_name(thread) != "main" ? fmt::format("\"{}\"", thread) : "";
}

}  // namespace attribute

void append_opcode_attributes(std::string& out, const Computation& computation,
                              const Instruction& instruction) {
  if (const auto* parameter = instruction.get<ParameterAttrs>();
      parameter != nullptr && !parameter->replication.empty()) {
    put(out, "parameter_replication", parameter->replication);
  }
  const auto groups = {attributes_for(instruction.opcode, /*predicated=*/false),
                       async_attributes(instruction.opcode, /*sugar=*/false)};
  for (const std::span<const AttributeRow> rows : groups) {
    for (const AttributeRow& row : rows) {
      if (row.write == nullptr) continue;
      const std::string value = row.write(computation, instruction, row.key);
      if (!value.empty()) put(out, row.key, value);
    }
  }
  for (const RawAttr& attr : *instruction.raw) {
    const bool known = std::ranges::any_of(groups, [&](std::span<const AttributeRow> rows) {
      return std::ranges::find(rows, attr.key, &AttributeRow::key) != rows.end();
    });
    if (known || std::ranges::find(kCommonKeys, attr.key) != kCommonKeys.end()) continue;
    put(out, attr.key, attr.value);
  }
}

}  // namespace tilecast::ir

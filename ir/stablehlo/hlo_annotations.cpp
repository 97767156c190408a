#include "ir/stablehlo/hlo_annotations.h"

#include <algorithm>

#include "ir/stablehlo/conventions.h"
#include "ir/text/attribute_table.h"
#include "ir/text/module_parser.h"

namespace tilecast::ir::stablehlo {
namespace {

// Attributes that name computations: symbols say them.
constexpr std::string_view kCalleeKeys[] = {"calls",
                                            "to_apply",
                                            "condition",
                                            "body",
                                            "select",
                                            "true_computation",
                                            "false_computation",
                                            "scatter",
                                            "called_computations",
                                            "branch_computations"};

const std::string* text_attribute(const Operation& op, std::string_view name) {
  const Attribute* found = op.find(name);
  return found == nullptr ? nullptr : &found->string;
}

// Runs `read` on HLO text; its errors become errors at `offset`.
template <class Read>
void read_hlo_words(const AttributeValues& values, std::size_t offset, std::string_view what,
                    const std::string& text, Read&& read) {
  try {
    const base::SourceText source(std::string(what), text);
    ModuleParser parser(source, {});
    read(parser);
    parser.cursor().fail_if(!parser.cursor().at(Tok::kEof), "expects nothing more");
  } catch (const Error& error) {
    values.fail_at(offset, "{}", error.what());
  }
}

// `type`: what MLIR says of it; what it cannot say is invalid there.
Shape read_shape_text(const AttributeValues& values, std::size_t offset, const std::string& text,
                      const Shape& type) {
  Shape shape;
  read_hlo_words(values, offset, kShapeAttribute, text, [&](ModuleParser& parser) {
    shape = read_shape(parser.cursor());
    fill_default_layouts(shape);
  });
  bool says_all = true;
  for_each_leaf(type, [&](const Shape& leaf) {
    says_all = says_all && (leaf.is_array() || leaf.is_token());
  });
  if (says_all && !compatible(shape, type)) {
    values.fail_at(offset, "{} does not fit its type {}", text, to_string(type, false));
  }
  return shape;
}

// `key=value, ...` into the instruction.
void read_attribute_list(const AttributeValues& values, std::size_t offset, const std::string& text,
                         Instruction& instruction) {
  const auto rows = {attributes_for(instruction.opcode, /*predicated=*/false), common_attributes(),
                     async_attributes(instruction.opcode, /*sugar=*/false)};
  read_hlo_words(values, offset, kHloAttributes, text, [&](ModuleParser& parser) {
    Cursor& cursor = parser.cursor();
    do {
      const Token key = cursor.token();
      cursor.expect(Tok::kAttributeName, "expects attributes");
      const AttributeRow* row = nullptr;
      for (const std::span<const AttributeRow> group : rows) {
        const auto found = std::ranges::find(group, key.text, &AttributeRow::key);
        if (row == nullptr && found != group.end()) row = &*found;
      }
      cursor.fail_at_if(std::ranges::find(kCalleeKeys, key.text) != std::end(kCalleeKeys) ||
                            key.text == "control-predecessors",
                        key.begin, "{} is not read here", key.text);
      // Layout constraints repeat the operands' shapes, which are not at hand.
      if (row != nullptr && key.text != "operand_layout_constraints") {
        row->read(parser, instruction, row->key);
      } else {
        std::erase_if(instruction.raw.edit(),
                      [&](const RawAttr& raw) { return raw.key == key.text; });
        instruction.raw.edit().push_back({std::string(key.text), std::string(cursor.any_value())});
      }
    } while (cursor.accept(Tok::kComma));
  });
}

}  // namespace

bool is_printed(const Operation& module) {
  return module.find(kModuleAttribute) != nullptr;
}

void apply_header(const AttributeValues& values, const Operation& module, Module& into) {
  const std::string* text = text_attribute(module, kModuleAttribute);
  Module header;
  try {
    header = parse_unverified({"hlo.module", *text + "\nENTRY e {\n  ROOT t = () tuple()\n}\n"});
  } catch (const Error& error) {
    values.fail_at(module.find(kModuleAttribute)->offset, "{}", error.what());
  }
  header.computations = std::move(into.computations);
  header.entry = into.entry;
  header.warnings = std::move(into.warnings);
  into = std::move(header);
}

bool is_fallback(const Operation& op) {
  return op.name.starts_with(kFallbackDialect);
}

Instruction fallback_instruction(const AttributeValues& values, const Operation& op) {
  std::string name(op.name.substr(kFallbackDialect.size()));
  std::ranges::replace(name, '_', '-');
  const std::optional<Opcode> opcode = parse_opcode(name);
  if (!opcode) values.fail(op, "no HLO opcode is called {}", name);
  if (op.result_count != 1) values.fail(op, "expected one result");
  Instruction made;
  made.opcode = *opcode;
  made.attrs = attributes_of(*opcode);
  made.offset = op.offset;
  if (const std::string* shape = text_attribute(op, kShapeAttribute)) {
    made.shape = read_shape_text(values, op.offset, *shape, Shape());
  }
  return made;
}

std::vector<std::string> called_names(const AttributeValues& values, const Operation& op) {
  std::vector<std::string> names;
  const Attribute* called = op.find(kCalledAttribute);
  if (called == nullptr) return names;
  for (const Attribute& each : called->elements) {
    if (each.kind != Attribute::Kind::kSymbol) values.fail(op, "expects symbols of functions");
    names.push_back(each.string);
  }
  return names;
}

void check_fallback(const AttributeValues& values, const Operation& op,
                    const Computation& computation, const Instruction& instruction) {
  const OperandCounts counts = operand_counts(instruction.opcode);
  const auto operands = static_cast<int>(instruction.operands.size());
  if (operands < counts.least || operands > counts.most) {
    values.fail(op, "expects {} operands, got {}", counts.least, operands);
  }
  const bool predicated = instruction.opcode == Opcode::kConditional &&
                          computation.at(instruction.operands[0]).shape.dtype == DType::kPred;
  std::size_t needed = 0;
  for (const AttributeRow& row : attributes_for(instruction.opcode, predicated)) {
    const bool is_callee = std::ranges::find(kCalleeKeys, row.key) != std::end(kCalleeKeys);
    needed += is_callee && row.required ? 1U : 0U;
  }
  if (instruction.called.size() < needed) {
    values.fail(op, "expects {} computations, got {}", needed, instruction.called.size());
  }
}

InstrId find_instruction(const AttributeValues& values, const Operation& op,
                         const Computation& computation, const std::string& name) {
  for (std::size_t i = computation.instructions.size(); i-- > 0;) {
    if (computation.instructions[i].name == name) return InstrId(i);
  }
  values.fail(op, "no instruction {} before it", name);
}

std::string execution_thread(const Operation& function) {
  const std::string* thread = text_attribute(function, kThreadAttribute);
  return thread == nullptr ? "" : *thread;
}

void apply_annotations(const AttributeValues& values, const Operation& op, const Shape& type,
                       Computation& computation, InstrId id) {
  Instruction& made = computation.instructions[id.index()];
  const std::string* name = text_attribute(op, kNameAttribute);
  made.name =
      name != nullptr ? *name : std::string(values.tree().values[op.first_result.index()].name);
  if (const std::string* shape = text_attribute(op, kShapeAttribute)) {
    made.shape = read_shape_text(values, op.offset, *shape, type);
  }
  if (const std::string* literal = text_attribute(op, kLiteralAttribute)) {
    auto* constant = made.attrs.edit_if<ConstantAttrs>();
    if (constant == nullptr) values.fail(op, "only constants have {}", kLiteralAttribute);
    read_hlo_words(values, op.offset, kLiteralAttribute, *literal, [&](ModuleParser& parser) {
      constant->literal = read_literal(parser.cursor(), made.shape);
    });
  }
  if (const std::string* text = text_attribute(op, kHloAttributes)) {
    read_attribute_list(values, op.offset, *text, made);
  }
  if (const Attribute* before = op.find(kAfterAttribute)) {
    for (const Attribute& each : before->elements) {
      made.control_predecessors.edit().push_back(
          find_instruction(values, op, computation, each.string));
    }
  }
}

void apply_region_argument(const AttributeValues& values, const Operation& op, std::size_t number,
                           Instruction& parameter) {
  const Attribute* all = op.find(kArgumentsAttribute);
  if (all == nullptr || number >= all->elements.size()) return;
  const std::string& text = all->elements[number].string;
  if (!text.empty()) read_attribute_list(values, op.offset, text, parameter);
}

void apply_argument(const AttributeValues& values, const Operation& function, std::size_t index,
                    std::string_view ssa_name, Instruction& parameter) {
  parameter.name = ssa_name;
  const Attribute* all = function.find("arg_attrs");
  if (all == nullptr || index >= all->elements.size()) return;
  const Attribute& attributes = all->elements[index];
  const auto text = [&](std::string_view key) {
    const Attribute* found = attributes.find(key);
    return found == nullptr ? nullptr : &found->string;
  };
  if (const std::string* name = text(kNameAttribute)) parameter.name = *name;
  if (const std::string* shape = text(kArgumentShapeAttribute)) {
    parameter.shape = read_shape_text(values, attributes.offset, *shape, parameter.shape);
  }
  if (const std::string* list = text(kHloAttributes)) {
    read_attribute_list(values, attributes.offset, *list, parameter);
  }
}

}  // namespace tilecast::ir::stablehlo

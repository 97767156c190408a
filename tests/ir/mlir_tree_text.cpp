#include "tests/ir/mlir_tree_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace tilecast::ir::mlir {
namespace {

class TreeText {
 public:
  explicit TreeText(const Tree& tree) : tree_(tree) {}

  std::string write() {
    operation(tree_.module, "");
    return out_;
  }

 private:
  template <class List, class Write>
  std::string join(const List& list, Write&& write) const {
    std::string text;
    for (const auto& item : list) text += (text.empty() ? "" : ", ") + write(item);
    return text;
  }

  static std::string without_blanks(std::string_view text) {
    std::string out(text);
    std::erase_if(out, [](char c) { return c == ' ' || c == '\n'; });
    return out;
  }

  std::string type(TypeId id) const {
    if (!id.valid()) return "";
    const Type& type = tree_.at(id);
    if (type.kind != Type::Kind::kFunction) return without_blanks(type.text);
    const auto write = [this](TypeId part) { return this->type(part); };
    return fmt::format("({}) -> ({})", join(type.inputs, write), join(type.results, write));
  }

  std::string fields(const std::vector<NamedAttribute>& list) const {
    std::vector<std::string> texts;
    for (const NamedAttribute& field : list) {
      texts.push_back(fmt::format("{} = {}", field.name, attribute(field.value)));
    }
    std::ranges::sort(texts);
    return fmt::format("{{{}}}", fmt::join(texts, ", "));
  }

  std::string attribute(const Attribute& value) const {
    using enum Attribute::Kind;
    switch (value.kind) {
      case kUnit:
        return "unit";
      case kBool:
        return value.integer != 0 ? "true" : "false";
      case kInteger:
        return fmt::format("{}:{}", value.integer, type(value.type));
      case kFloat:
        return fmt::format("{:a}:{}", value.number, type(value.type));
      case kString:
        return '"' + value.string + '"';
      case kSymbol:
        return '@' + value.string;
      case kType:
        return type(value.type);
      case kArray:
        return '[' + join(value.elements, [this](const Attribute& a) { return attribute(a); }) +
               ']';
      case kDict:
        return fields(value.fields);
      case kDense:
        return fmt::format("dense<{}>:{}", without_blanks(value.text), type(value.type));
      case kCustom:
        return fmt::format(
            "#{}<{}>", value.string,
            value.fields.empty() ? without_blanks(value.text) : fields(value.fields));
      case kRaw:
        return without_blanks(value.text);
    }
    return "";
  }

  std::string value(ValueId id) const {
    return fmt::format("%{}:{}", id.index(), type(tree_.values[id.index()].type));
  }

  void operation(const Operation& op, const std::string& indent) {
    out_ += indent;
    for (std::uint32_t i = 0; i < op.result_count; ++i) out_ += value(op.result(i)) + " ";
    out_ += fmt::format("{}({}) {}\n", op.name,
                        join(op.operands, [this](ValueId id) { return value(id); }),
                        fields(op.attributes));
    for (const Region& region : op.regions) {
      out_ += indent + "region\n";
      for (const Block& block : region.blocks) {
        out_ += fmt::format("{}block({})\n", indent,
                            join(block.arguments, [this](ValueId id) { return value(id); }));
        for (const Operation& inner : block.operations) operation(inner, indent + "  ");
      }
    }
  }

  const Tree& tree_;
  std::string out_;
};

}  // namespace

std::string tree_text(const Tree& tree) {
  return TreeText(tree).write();
}

}  // namespace tilecast::ir::mlir

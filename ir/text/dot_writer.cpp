#include "ir/text/dot_writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilecast::ir {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    if (static_cast<unsigned char>(c) >= 0x20) out.push_back(c);
  }
  return out + "\"";
}

std::string_view style(const Kernel& kernel, OpId id) {
  const auto outputs = kernel.outputs();
  if (std::find(outputs.begin(), outputs.end(), id) != outputs.end()) return "peripheries=2";
  switch (op_class(kernel.op(id).opcode)) {
    case OpClass::kFree:
      return "shape=box style=rounded";
    case OpClass::kMatrix:
      return "style=filled fillcolor=lightsalmon";
    case OpClass::kReduction:
      return "style=filled fillcolor=lightgoldenrod";
    case OpClass::kTranscendental:
      return "style=filled fillcolor=lightblue";
    default:
      return "shape=ellipse";
  }
}

}  // namespace

std::string write_dot(const Kernel& kernel) {
  std::string out = fmt::format("digraph {} {{\n  rankdir=TB;\n", quoted(kernel.name()));
  for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
    const Op& op = kernel.ops()[i];
    std::string label = quoted(op.name);
    label.insert(label.size() - 1,
                 "\\n" + std::string(name(op.opcode)) + " " + to_string(op.shape));
    out += fmt::format("  n{} [label={} {}];\n", i, label, style(kernel, OpId(i)));
  }
  for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
    for (const OpId user : kernel.users(OpId(i))) {
      out += fmt::format("  n{} -> n{};\n", i, user.index());
    }
  }
  return out + "}\n";
}

}  // namespace tilecast::ir

#include "schedule/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilecast::schedule {
namespace {

std::string brackets(const std::vector<Index>& indices) {
  std::string text;
  for (const Index& index : indices) text += (text.empty() ? "" : ", ") + index.text();
  return "[" + text + "]";
}

std::string bounds(const std::vector<Bound>& where) {
  std::string text;
  for (const Bound& bound : where) {
    text +=
        fmt::format("{}0 <= {} < {}", text.empty() ? "" : ", ", bound.index.text(), bound.limit);
  }
  return text;
}

class Printer {
 public:
  void print(const LoopProgram& program) {
    line("program " + program.name);
    ++depth_;
    for (const Buffer& buffer : program.buffers) print(buffer);
    --depth_;
    line("{");
    print(program.body);
    line("}");
  }

  std::string text;

 private:
  void line(const std::string& content) {
    text.append(2 * depth_, ' ');
    text += content + "\n";
  }

  void print(const Buffer& buffer) {
    constexpr std::string_view kRoles[] = {"input", "output", "temporary"};
    std::string made =
        fmt::format("{} {} {} {}[{}]", kRoles[static_cast<int>(buffer.role)], name(buffer.scope),
                    buffer.name, ir::name(buffer.dtype), fmt::join(buffer.dims, ","));
    if (!buffer.strides.empty()) made += fmt::format(" strides {}", fmt::join(buffer.strides, ","));
    if (buffer.stages != 1) made += fmt::format(" stages {}", buffer.stages);
    line(made);
  }

  void print(const Body& body) {
    ++depth_;
    for (const Statement& statement : body) {
      std::visit([this](const auto& s) { print(s); }, statement.is);
    }
    --depth_;
  }

  void block(const std::string& head, const Body& body) {
    line(head + " {");
    print(body);
    line("}");
  }

  void print(const Loop& loop) {
    block(fmt::format("{} {} < {}", name(loop.kind), loop.variable, loop.extent), loop.body);
  }
  void print(const Guard& guard) { block("guard " + bounds(guard.where), guard.body); }
  void print(const Sync& sync) { line(fmt::format("{} {}", name(sync.kind), sync.pipeline)); }

  void print(const Assign& assign) {
    std::string made = to_text(assign.to) + " ";
    if (assign.combine) made += ir::name(*assign.combine);
    made += "= " + to_text(assign.value);
    if (!assign.where.empty()) made += " where " + bounds(assign.where);
    line(made);
  }

  void print(const Copy& copy) {
    line(fmt::format("copy {} = {} size {}{}{}", to_text(copy.to), to_text(copy.from),
                     fmt::join(copy.extents, "x"), copy.async ? " async" : "",
                     copy.padded ? " padded" : ""));
  }

  void print(const Multiply& m) {
    line(fmt::format("multiply {} += {} * {} size {}x{}x{}", to_text(m.c), to_text(m.a),
                     to_text(m.b), m.rows, m.columns, m.depth));
  }

  std::size_t depth_ = 0;
};

}  // namespace

std::string to_text(const Access& access) {
  const std::string slot = access.slot ? "[" + access.slot->text() + "]" : "";
  return access.buffer + slot + brackets(access.at);
}

std::string to_text(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kRead:
      return to_text(value.read);
    case Value::Kind::kNumber:
      return fmt::format("{}:{}", value.number, ir::name(value.dtype));
    case Value::Kind::kApply:
      break;
  }
  std::string operands;
  for (const Value& operand : value.operands) {
    operands += (operands.empty() ? "" : ", ") + to_text(operand);
  }
  const std::string direction = value.direction.empty() ? "" : "." + value.direction;
  return fmt::format("{}{}.{}({})", ir::name(value.opcode), direction, ir::name(value.dtype),
                     operands);
}

std::string to_text(const LoopProgram& program) {
  Printer printer;
  printer.print(program);
  return printer.text;
}

}  // namespace tilecast::schedule

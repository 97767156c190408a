#include "ir/hlo.h"

#include <algorithm>
#include <array>

namespace tilecast::ir {

const std::string* Instruction::find_raw(std::string_view key) const {
  const auto found =
      std::find_if(raw->begin(), raw->end(), [&](const RawAttr& attr) { return attr.key == key; });
  return found == raw->end() ? nullptr : &found->value;
}

std::string_view Instruction::op_name() const {
  constexpr std::string_view kKey = "op_name=\"";
  const std::string_view text = metadata;
  std::size_t begin = text.find(kKey);
  while (begin != std::string_view::npos && begin > 0 && text[begin - 1] != ' ') {
    begin = text.find(kKey, begin + 1);
  }
  if (begin == std::string_view::npos) return {};
  begin += kKey.size();
  std::size_t end = begin;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return text.substr(begin, std::min(end, text.size()) - begin);
}

Instruction parameter_instruction(std::string name, Shape shape, std::size_t number) {
  Instruction parameter;
  parameter.name = std::move(name);
  parameter.shape = std::move(shape);
  parameter.attrs = ParameterAttrs{static_cast<std::int64_t>(number), {}};
  return parameter;
}

Instruction tuple_instruction(std::string name, std::vector<InstrId> operands,
                              const Computation& computation) {
  Instruction tuple;
  tuple.name = std::move(name);
  tuple.opcode = Opcode::kTuple;
  std::vector<Shape> shapes;
  for (const InstrId id : operands) shapes.push_back(computation.at(id).shape);
  tuple.shape = Shape::tuple(std::move(shapes));
  tuple.operands = std::move(operands);
  return tuple;
}

bool is_scalar_constant(const Instruction& instruction) {
  return instruction.opcode == Opcode::kConstant && instruction.shape.is_scalar();
}

bool is_annotation(const Instruction& instruction) {
  static constexpr std::array<std::string_view, 9> kTargets = {
      "AssumeGatherIndicesInBound", "LayoutConstraint",           "Sharding",
      "SPMDFullToShardShape",       "SPMDShardToFullShape",       "annotate_device_placement",
      "xla.sdy.FuncResultSharding", "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"};
  const auto* call = instruction.get<CustomCallAttrs>();
  return call != nullptr && instruction.operands.size() == 1 &&
         std::find(kTargets.begin(), kTargets.end(), call->target) != kTargets.end();
}

bool only_names_memory(const Instruction& instruction) {
  const auto* call = instruction.get<CustomCallAttrs>();
  return call != nullptr && (call->target == "AllocateBuffer" || call->target == "ConcatBitcast");
}

std::optional<Opcode> applied_opcode(const Computation& called) {
  const Instruction& returned = called.root_instruction();
  const bool is_twice = returned.opcode == Opcode::kTuple && returned.operands.size() == 2 &&
                        returned.operands[0] == returned.operands[1];
  const Instruction& root = is_twice ? called.at(returned.operands[0]) : returned;
  const bool plain = is_elementwise(root.opcode) && root.opcode != Opcode::kCompare &&
                     info(root.opcode).arity == 2 && root.operands.size() == 2;
  if (!plain || called.parameters.size() != 2) return std::nullopt;
  const auto reads = [&](std::size_t operand, std::size_t parameter) {
    return root.operands[operand] == called.parameters[parameter];
  };
  const bool in_order = reads(0, 0) && reads(1, 1);
  const bool swapped = reads(0, 1) && reads(1, 0);
  if (in_order || (swapped && has(root.opcode, Trait::kCommutes))) return root.opcode;
  return std::nullopt;
}

}  // namespace tilecast::ir

// Finds the outputs of a kernel that share a buffer with a parameter.
#include "ir/kernels/kernel_inliner.h"

namespace tilecast::ir {

std::optional<std::size_t> KernelInliner::parameter_at(OpId id) const {
  const auto parameters = builder_.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i] == id) return i;
  }
  return std::nullopt;
}

// Follows bitcasts from an output to an op that updates an operand in place, then from that operand
// to a parameter.
std::optional<std::size_t> KernelInliner::updated_parameter(OpId output) const {
  const auto behind_bitcasts = [&](OpId id) {
    while (builder_.op(id).opcode == Opcode::kBitcast) id = builder_.op(id).operands[0];
    return id;
  };
  OpId id = behind_bitcasts(output);
  std::size_t result = 0;
  if (builder_.op(id).opcode == Opcode::kGetTupleElement) {
    result = static_cast<std::size_t>(builder_.op(id).as<IndexAttrs>().index);
    id = builder_.op(id).operands[0];
  }
  const Op& op = builder_.op(id);
  const bool in_place = op.opcode == Opcode::kDynamicUpdateSlice || op.opcode == Opcode::kScatter;
  if (!in_place || result >= op.operands.size()) return std::nullopt;
  return parameter_at(behind_bitcasts(op.operands[result]));
}

void KernelInliner::note_in_place(const std::vector<OpId>& outputs,
                                  const std::vector<Value>& operands) {
  std::vector<bool> shared(outputs.size(), false);
  const auto leaf_position = [](const Shape& shape, const Dims& index) {
    std::size_t position = 0;
    const Shape* at = &shape;
    for (const std::int64_t step : index) {
      for (std::int64_t i = 0; i < step && i < std::ssize(at->elements); ++i) {
        for_each_leaf(at->elements[static_cast<std::size_t>(i)], [&](const Shape&) { ++position; });
      }
      if (step < 0 || step >= std::ssize(at->elements)) return SIZE_MAX;
      at = &at->elements[static_cast<std::size_t>(step)];
    }
    return position;
  };
  for (const Alias& alias : *instruction_.aliasing) {
    if (alias.operand < 0 || alias.operand >= std::ssize(operands)) continue;
    const auto operand = static_cast<std::size_t>(alias.operand);
    const Shape& operand_shape = caller_.at(instruction_.operands[operand]).shape;
    const std::size_t output = leaf_position(instruction_.shape, alias.output_index);
    const std::size_t leaf = leaf_position(operand_shape, alias.operand_index);
    if (output >= outputs.size() || leaf >= operands[operand].size() || shared[output]) continue;
    const Leaf& source = operands[operand][leaf];
    if (source.kind != Leaf::Kind::kOutside || !outside_[source.index].op.valid()) continue;
    if (const auto parameter = parameter_at(outside_[source.index].op)) {
      builder_.add_in_place(output, *parameter);
      shared[output] = true;
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (shared[i]) continue;
    if (const auto parameter = updated_parameter(outputs[i])) builder_.add_in_place(i, *parameter);
  }
}

}  // namespace tilecast::ir

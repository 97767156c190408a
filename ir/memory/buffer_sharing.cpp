#include "ir/memory/buffer_sharing.h"

#include <algorithm>

#include "ir/array_elements.h"
#include "ir/fusion/fusion_rules.h"

namespace tilecast::ir {
namespace {

// Finds the parameters that the outputs of a fused computation may overwrite. `pointwise_[i]`: all
// readers of instruction i in the fusion read it element by element.
class FusionPaths {
 public:
  explicit FusionPaths(const Computation& fused) : fused_(fused) {
    pointwise_.assign(fused.instructions.size(), true);
    for (std::size_t i = fused.instructions.size(); i-- > 0;) {
      const Instruction& op = fused.instructions[i];
      const bool passes =
          is_elementwise(op.opcode) || op.opcode == Opcode::kCopy || op.opcode == Opcode::kTuple;
      for (const InstrId operand : op.operands) {
        const bool is_ordered = operand.index() < i;
        pointwise_[operand.index()] =
            pointwise_[operand.index()] && passes && pointwise_[i] && is_ordered;
      }
    }
  }

  // Whether a value is the result of an in-place update. `parameters`: the updated parameter,
  // possibly through other updates; empty if the target is computed in the fusion.
  struct Update {
    bool in_place = false;
    std::vector<std::size_t> parameters;
  };
  [[nodiscard]] Update updated(InstrId output) const {
    Update update;
    std::size_t result = 0;
    for (InstrId id = behind_bitcasts(output);;) {
      const Instruction& op = fused_.at(id);
      if (op.opcode == Opcode::kGetTupleElement) {
        result = static_cast<std::size_t>(op.as<IndexAttrs>().index);
        id = behind_bitcasts(op.operands[0]);
      } else if (updates_in_place(op) && result < op.operands.size()) {
        update.in_place = true;
        id = behind_bitcasts(op.operands[result]);
        result = 0;
      } else {
        const auto* parameter = op.get<ParameterAttrs>();
        const bool found = update.in_place && parameter != nullptr;
        if (found) update.parameters = {static_cast<std::size_t>(parameter->number)};
        return update;
      }
    }
  }

  [[nodiscard]] std::vector<std::size_t> elementwise(InstrId output) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < fused_.parameters.size(); ++i) {
      const InstrId parameter = fused_.parameters[i];
      const bool alike = fused_.at(parameter).shape == fused_.at(output).shape;
      if (alike && pointwise_[parameter.index()]) found.push_back(i);
    }
    return found;
  }

  [[nodiscard]] InstrId behind_bitcasts(InstrId id) const {
    while (true) {
      const Instruction& op = fused_.at(id);
      const bool in_place =
          op.opcode == Opcode::kFusion && op.operands.size() == 1 && !op.aliasing->empty();
      if (op.opcode != Opcode::kBitcast && !in_place) return id;
      id = op.operands[0];
    }
  }

 private:
  const Computation& fused_;
  std::vector<bool> pointwise_;
};

}  // namespace

const std::vector<BufferSharing::Overwritten>& BufferSharing::of_fusion(ComputationId fused) {
  const auto [found, is_new] = fusions_.try_emplace(fused.value);
  if (!is_new) return found->second;
  const Computation& computation = module_.at(fused);
  const FusionPaths paths(computation);
  const auto add = [&](InstrId output) {
    auto [in_place, parameters] = paths.updated(output);
    if (!in_place) parameters = paths.elementwise(output);
    found->second.push_back({std::move(parameters), in_place});
  };
  const Instruction& root = computation.root_instruction();
  if (root.opcode == Opcode::kTuple) {
    std::ranges::for_each(root.operands, add);
  } else {
    add(computation.root);
  }
  return found->second;
}

std::vector<BufferShare> BufferSharing::shares(const Computation& computation,
                                               const Instruction& op) {
  std::vector<BufferShare> shares;
  for (const Alias& alias : *op.aliasing) {
    if (alias.operand < 0 || alias.operand >= std::ssize(op.operands)) continue;
    const auto operand = static_cast<std::size_t>(alias.operand);
    const auto output = leaf_at(op.shape, alias.output_index);
    const auto leaf = leaf_at(computation.at(op.operands[operand]).shape, alias.operand_index);
    if (output && leaf) shares.push_back({*output, operand, *leaf});
  }
  if (op.opcode == Opcode::kFusion) {
    const std::vector<Overwritten>& outputs = of_fusion(op.called.at(0));
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      for (const std::size_t operand : outputs[output].parameters) {
        shares.push_back({output, operand, 0, outputs[output].in_place});
      }
    }
  } else if (op.opcode == Opcode::kAsyncStart && !op.called.empty()) {
    const Computation& started = module_.at(op.called.at(0));
    const Instruction& root = started.root_instruction();
    const std::size_t first = leaf_at(op.shape, Dims{1}).value_or(0);  // operands come before it
    for (const BufferShare& share : this->shares(started, root)) {
      const auto* from = started.at(root.operands[share.operand]).get<ParameterAttrs>();
      if (from == nullptr) continue;
      shares.push_back({first + share.output, static_cast<std::size_t>(from->number),
                        share.operand_leaf, share.in_place});
    }
  } else if (updates_in_place(op)) {
    const std::size_t results = op.shape.is_tuple() ? op.shape.elements.size() : 1;
    for (std::size_t i = 0; i < results; ++i) shares.push_back({i, i, 0});
  } else if (info(op.opcode).plain == Opcode::kAllReduce) {
    for (std::size_t i = 0; i < op.operands.size(); ++i) shares.push_back({i, i, 0});
  } else if (is_elementwise(op.opcode)) {
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      if (computation.at(op.operands[i]).shape == op.shape) shares.push_back({0, i, 0, false});
    }
  }
  return shares;
}

}  // namespace tilecast::ir

#include "ir/annotation.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tilecast::ir {

bool is_annotation(const Instruction& instruction) {
  static constexpr std::array<std::string_view, 9> kTargets = {
      "AssumeGatherIndicesInBound", "LayoutConstraint",           "Sharding",
      "SPMDFullToShardShape",       "SPMDShardToFullShape",       "annotate_device_placement",
      "xla.sdy.FuncResultSharding", "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"};
  if (instruction.opcode != Opcode::kCustomCall || instruction.operands.size() != 1) return false;
  const auto* call = instruction.get<CustomCallAttrs>();
  return call != nullptr &&
         std::find(kTargets.begin(), kTargets.end(), call->target) != kTargets.end();
}

}  // namespace tilecast::ir

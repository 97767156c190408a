#include "ir/fusion/fusion.h"

#include <algorithm>
#include <utility>

#include "ir/fusion/fusion_planner.h"
#include "ir/fusion/fusion_rewriter.h"
#include "ir/layout_assignment.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {

bool is_optimised(const Module& module) {
  const auto is_fusion = [](const Instruction& op) { return op.opcode == Opcode::kFusion; };
  const bool fused = std::any_of(module.computations.begin(), module.computations.end(),
                                 [&](const Computation& computation) {
                                   return std::any_of(computation.instructions.begin(),
                                                      computation.instructions.end(), is_fusion);
                                 });
  return fused || module.is_scheduled || has_device_layouts(module);
}

Module fuse(Module module, const FusionOptions& options) {
  module = with_copies(std::move(module));
  FreshNames names(module);
  return with_plans(tidied(std::move(module)), names,
                    [&](const Computation& computation, std::size_t) {
                      return FusionPlanner(computation, FusionGraph(computation), options).plan();
                    });
}

}  // namespace tilecast::ir

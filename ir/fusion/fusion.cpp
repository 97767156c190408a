#include "ir/fusion/fusion.h"

#include <algorithm>
#include <utility>

#include "ir/fusion/fusion_planner.h"
#include "ir/fusion/fusion_rewriter.h"
#include "ir/layout_assignment.h"
#include "ir/schedule_order.h"
#include "ir/verify/verifier.h"

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
  const std::vector<bool> sequential = sequential_computations(module);
  FreshNames names(module);
  std::vector<Computation> old = std::exchange(module.computations, {});
  Module result = std::move(module);
  result.is_scheduled = false;
  std::vector<ComputationId> moved(old.size());
  const auto add = [&](Computation computation, std::size_t first_fused) {
    for (Instruction& op : computation.instructions) {
      for (ComputationId& called : op.called) {
        const bool is_new = called.index() >= moved.size();
        called = is_new ? ComputationId(first_fused + called.index() - moved.size())
                        : moved[called.index()];
      }
    }
    result.computations.push_back(std::move(computation));
  };
  for (std::size_t i = 0; i < old.size(); ++i) {
    const std::size_t first_fused = result.computations.size();
    if (!sequential[i]) {
      add(std::move(old[i]), first_fused);
    } else {
      Computation tidy = tidied(std::move(old[i]));
      const std::vector<FusedKernel> kernels = FusionPlanner(tidy, options).plan();
      RewrittenComputation rewritten = with_fusions(std::move(tidy), kernels, moved.size(), names);
      for (Computation& fused : rewritten.fused) add(std::move(fused), first_fused);
      add(std::move(rewritten.caller), first_fused);
    }
    moved[i] = ComputationId(result.computations.size() - 1);
  }
  result.entry = moved[result.entry.index()];
  verify(result);
  return result;
}

}  // namespace tilecast::ir

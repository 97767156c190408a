#include "ir/fusion/kernel_maker.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "ir/fusion/fusion_rewriter.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {

KernelMaker::KernelMaker(const Module& module) : module_(module) {
  const std::vector<bool> sequential = sequential_computations(module);
  scratch_.name = module.name;
  scratch_.file = module.file;
  scratch_.replica_count = module.replica_count;
  scratch_.num_partitions = module.num_partitions;
  scratch_.window_bytes = module.window_bytes;
  for (std::size_t i = 0; i < sequential.size(); ++i) {
    scratch_.computations.push_back(sequential[i] ? Computation{} : module.computations[i]);
  }
}

Computation KernelMaker::excerpt(const Computation& computation, FusedKernel& kernel) const {
  std::sort(kernel.members.begin(), kernel.members.end());
  std::sort(kernel.roots.begin(), kernel.roots.end());
  Computation result;
  result.name = computation.name;
  std::map<InstrId, InstrId> local;
  const auto add = [&](InstrId source, Instruction op) {
    local[source] = InstrId(result.instructions.size());
    result.instructions.push_back(std::move(op));
  };
  for (const InstrId member : kernel.members) {
    for (const InstrId operand : computation.at(member).operands) {
      if (local.contains(operand) || std::ranges::binary_search(kernel.members, operand)) continue;
      const Instruction& op = computation.at(operand);
      if (is_scalar_constant(op)) {
        add(operand, op);
      } else {
        result.parameters.emplace_back(result.instructions.size());
        add(operand, parameter_instruction(op.name, op.shape, result.parameters.size() - 1));
      }
    }
  }
  for (const InstrId member : kernel.members) {
    Instruction op = computation.at(member);
    op.control_predecessors.reset();
    for (InstrId& operand : op.operands) operand = local.at(operand);
    add(member, std::move(op));
  }
  for (InstrId& member : kernel.members) member = local.at(member);
  for (InstrId& root : kernel.roots) root = local.at(root);
  result.root = kernel.roots.front();
  if (kernel.roots.size() == 1) return result;
  Instruction tuple = tuple_instruction("results", kernel.roots, result);
  result.root = InstrId(result.instructions.size());
  result.instructions.push_back(std::move(tuple));
  return result;
}

Kernel KernelMaker::make(ComputationId computation, const FusedKernel& kernel) {
  FusedKernel moved = kernel;
  Computation part = excerpt(module_.at(computation), moved);
  const std::size_t calls = scratch_.computations.size();
  FreshNames names(0);
  RewrittenComputation rewritten = with_fusions(std::move(part), {moved}, calls, names);
  const Computation& caller = rewritten.caller;
  InstrId launched = caller.root;
  if (moved.roots.size() > 1) {  // get-tuple-elements of the kernel's result, as a tuple
    launched = caller.at(caller.at(launched).operands.front()).operands.front();
  }
  for (Computation& fused : rewritten.fused) scratch_.computations.push_back(std::move(fused));
  scratch_.computations.push_back(std::move(rewritten.caller));
  scratch_.entry = ComputationId(scratch_.computations.size() - 1);
  WorkCounter counter(scratch_);
  Kernel made = make_kernel(scratch_, scratch_.entry, launched, counter);
  scratch_.computations.resize(calls);
  return made;
}

}  // namespace tilecast::ir

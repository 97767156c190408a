#include "ir/text/print_order.h"

#include <algorithm>

#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

// The positions that are not set.
std::vector<std::uint32_t> unset(const std::vector<bool>& flags) {
  std::vector<std::uint32_t> positions;
  for (std::uint32_t i = 0; i < flags.size(); ++i) {
    if (!flags[i]) positions.push_back(i);
  }
  return positions;
}

// Called computations in XLA's order: the body of a loop before its condition.
std::vector<ComputationId> callees(const Instruction& instruction) {
  std::vector<ComputationId> called = instruction.called;
  if (instruction.opcode == Opcode::kWhile) std::reverse(called.begin(), called.end());
  return called;
}

std::vector<bool> fused_computations(const Module& module) {
  std::vector<bool> fused(module.computations.size(), false);
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (instruction.opcode != Opcode::kFusion) continue;
      for (const ComputationId callee : instruction.called) fused[callee.index()] = true;
    }
  }
  return fused;
}

// Computations that are printed as `<op>-start(...)`.
std::vector<bool> wrapped_computations(const Module& module) {
  std::vector<bool> wrapped(module.computations.size(), false);
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (instruction.opcode != Opcode::kAsyncStart) continue;
      if (wrapped_instruction(module, computation, instruction) == nullptr) continue;
      wrapped[instruction.called.front().index()] = true;
    }
  }
  return wrapped;
}

std::vector<InstrId> textual_order(const Computation& computation) {
  std::vector<InstrId> order;
  for (std::size_t i = 0; i < computation.instructions.size(); ++i) order.emplace_back(i);
  return order;
}

// Depth-first post-order from the computations that nothing calls; calls in printing order.
std::vector<ComputationId> computation_order(
    const Module& module, const std::vector<std::vector<InstrId>>& instructions) {
  const std::size_t count = module.computations.size();
  std::vector<GraphEdge> edges;
  std::vector<bool> called(count, false);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const InstrId id : instructions[i]) {
      for (const ComputationId callee : callees(module.computations[i].at(id))) {
        edges.emplace_back(i, callee.value);
        called[callee.index()] = true;
      }
    }
  }
  const auto order = depth_first(count, edges, unset(called)).post_order;
  return {order.begin(), order.end()};
}

// The async-start that `instruction` belongs to, through its chain of updates; null when unknown.
const Instruction* find_start(const Computation& computation, const Instruction& instruction) {
  const Instruction* current = &instruction;
  for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
    if (!is_async_chain(current->opcode)) return nullptr;
    if (starts_asynchronously(current->opcode)) return current;
    if (current->operands.empty()) return nullptr;
    current = &computation.at(current->operands.front());
  }
  return nullptr;
}

bool passes_parameters_in_order(const Computation& computation, const Instruction& instruction) {
  if (instruction.operands != computation.parameters) return false;
  return computation.instructions.size() == computation.parameters.size() + 1;
}

}  // namespace

PrintPlan plan_printing(const Module& module) {
  PrintPlan plan;
  const std::vector<bool> fused = fused_computations(module);
  for (std::size_t i = 0; i < module.computations.size(); ++i) {
    const Computation& computation = module.computations[i];
    const bool textual = module.is_scheduled && !fused[i];
    plan.instructions.push_back(
        textual ? textual_order(computation)
                : depth_first_order(computation, unused_instructions(computation)));
  }
  plan.computations = computation_order(module, plan.instructions);
  const std::vector<bool> wrapped = wrapped_computations(module);
  std::erase_if(plan.computations, [&](ComputationId id) { return wrapped[id.index()]; });
  return plan;
}

const Instruction* wrapped_instruction(const Module& module, const Computation& computation,
                                       const Instruction& instruction) {
  const Instruction* start = find_start(computation, instruction);
  if (start == nullptr || start->called.size() != 1) return nullptr;
  const Computation& wrapped = module.at(start->called.front());
  const Instruction& root = wrapped.root_instruction();
  if (parse_opcode(std::string(name(root.opcode)) + "-start")) return nullptr;
  return passes_parameters_in_order(wrapped, root) ? &root : nullptr;
}

}  // namespace tilecast::ir

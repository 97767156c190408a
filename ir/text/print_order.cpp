#include "ir/text/print_order.h"

#include <algorithm>

namespace tilecast::ir {
namespace {

enum class Visit : std::uint8_t { kNew, kOpen, kDone };

// Called computations in the order XLA lists them: the body of a loop before its condition.
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

// Computations that `<op>-start(...)` stands for.
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

// Depth-first post-order of instructions; operands are entered first to last, after the control
// predecessors.
class InstructionOrder {
 public:
  explicit InstructionOrder(const Computation& computation)
      : computation_(computation), state_(computation.instructions.size(), Visit::kNew) {}

  std::vector<InstrId> run() {
    const std::size_t count = computation_.instructions.size();
    std::vector<bool> used(count, false);
    for (const Instruction& instruction : computation_.instructions) {
      for (const InstrId operand : instruction.operands) used[operand.index()] = true;
    }
    order_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (!used[i]) visit_from(InstrId(i));
    }
    return std::move(order_);
  }

 private:
  void visit_from(InstrId root) {
    enter(root);
    while (!stack_.empty()) {
      const InstrId current = stack_.back();
      Visit& state = state_[current.index()];
      if (state != Visit::kNew) {
        stack_.pop_back();
        if (state != Visit::kDone) order_.push_back(current);
        state = Visit::kDone;
        continue;
      }
      state = Visit::kOpen;
      const Instruction& instruction = computation_.at(current);
      std::for_each(instruction.operands.rbegin(), instruction.operands.rend(),
                    [this](InstrId operand) { enter(operand); });
      for (const InstrId predecessor : instruction.control_predecessors) enter(predecessor);
    }
  }

  void enter(InstrId id) {
    if (state_[id.index()] == Visit::kNew) stack_.push_back(id);
  }

  const Computation& computation_;
  std::vector<Visit> state_;
  std::vector<InstrId> stack_;
  std::vector<InstrId> order_;
};

// Depth-first post-order of computations. Iterative: call chains may be long.
class ComputationOrder {
 public:
  ComputationOrder(const Module& module, const std::vector<std::vector<InstrId>>& instructions)
      : module_(module),
        instructions_(instructions),
        state_(module.computations.size(), Visit::kNew) {}

  std::vector<ComputationId> run() {
    std::vector<bool> called(module_.computations.size(), false);
    for (const Computation& computation : module_.computations) {
      for (const Instruction& instruction : computation.instructions) {
        for (const ComputationId callee : instruction.called) called[callee.index()] = true;
      }
    }
    for (std::size_t i = 0; i < called.size(); ++i) {
      if (!called[i]) visit_from(ComputationId(i));
    }
    return std::move(order_);
  }

 private:
  struct Frame {
    ComputationId id;
    std::vector<ComputationId> callees;
    std::size_t next = 0;
  };

  void visit_from(ComputationId root) {
    enter(root);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.next < frame.callees.size()) {
        enter(frame.callees[frame.next++]);
        continue;
      }
      order_.push_back(frame.id);
      stack_.pop_back();
    }
  }

  void enter(ComputationId id) {
    if (state_[id.index()] != Visit::kNew) return;
    state_[id.index()] = Visit::kDone;
    Frame frame{id, {}, 0};
    for (const InstrId instruction : instructions_[id.index()]) {
      const auto called = callees(module_.at(id).at(instruction));
      frame.callees.insert(frame.callees.end(), called.begin(), called.end());
    }
    stack_.push_back(std::move(frame));
  }

  const Module& module_;
  const std::vector<std::vector<InstrId>>& instructions_;
  std::vector<Visit> state_;
  std::vector<Frame> stack_;
  std::vector<ComputationId> order_;
};

// The async-start that `instruction` belongs to, through its chain of updates; null when unknown.
const Instruction* find_start(const Computation& computation, const Instruction& instruction) {
  const Instruction* current = &instruction;
  for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
    if (current->opcode == Opcode::kAsyncStart) return current;
    const bool in_chain =
        current->opcode == Opcode::kAsyncUpdate || current->opcode == Opcode::kAsyncDone;
    if (!in_chain || current->operands.empty()) return nullptr;
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
    plan.instructions.push_back(textual ? textual_order(computation)
                                        : InstructionOrder(computation).run());
  }
  plan.computations = ComputationOrder(module, plan.instructions).run();
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

#include "ir/schedule_order.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tilecast::ir {
namespace {

template <class Visit>
void for_each_predecessor(const Instruction& instruction, Visit&& visit) {
  for (const InstrId id : instruction.operands) visit(id);
  for (const InstrId id : *instruction.control_predecessors) visit(id);
}

}  // namespace

bool in_order(const Computation& computation) {
  for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
    bool ordered = true;
    for_each_predecessor(computation.instructions[i],
                         [&](InstrId id) { ordered &= id.index() < i; });
    if (!ordered) return false;
  }
  return true;
}

std::vector<GraphEdge> dependence_edges(const Computation& computation) {
  std::vector<GraphEdge> edges;
  for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
    for_each_predecessor(computation.instructions[i], [&](InstrId id) {
      edges.emplace_back(id.value, static_cast<std::uint32_t>(i));
    });
  }
  return edges;
}

UserLists user_lists(const Computation& computation) {
  UserLists users(computation.instructions.size());
  for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
    for (const InstrId operand : computation.instructions[i].operands) {
      std::vector<InstrId>& list = users[operand.index()];
      if (list.empty() || list.back() != InstrId(i)) list.push_back(InstrId(i));
    }
  }
  return users;
}

std::vector<bool> dependents(const UserLists& users, InstrId from) {
  std::vector<bool> found(users.size(), false);
  std::vector<InstrId> open = {from};
  while (!open.empty()) {
    const InstrId id = open.back();
    open.pop_back();
    for (const InstrId user : users[id.index()]) {
      if (found[user.index()]) continue;
      found[user.index()] = true;
      open.push_back(user);
    }
  }
  return found;
}

std::vector<bool> sequential_computations(const Module& module) {
  std::vector<bool> sequential(module.computations.size(), false);
  std::vector<ComputationId> open = {module.entry};
  sequential[module.entry.index()] = true;
  while (!open.empty()) {
    const Computation& computation = module.at(open.back());
    open.pop_back();
    for (const Instruction& op : computation.instructions) {
      const bool runs = op_class(op.opcode) == OpClass::kControl && !is_async_chain(op.opcode);
      if (!runs) continue;
      for (const ComputationId called : op.called) {
        if (sequential[called.index()]) continue;
        sequential[called.index()] = true;
        open.push_back(called);
      }
    }
  }
  return sequential;
}

std::vector<InstrId> schedule_order(const Computation& computation) {
  std::vector<std::uint32_t> order(computation.instructions.size());
  std::iota(order.begin(), order.end(), 0U);
  if (!in_order(computation)) order = order_by_key(order, dependence_edges(computation));
  if (order.size() != computation.instructions.size()) {
    throw Error("computation " + computation.name + ": its instructions form a cycle");
  }
  return {order.begin(), order.end()};
}

std::vector<InstrId> depth_first_order(const Computation& computation,
                                       const std::vector<std::uint32_t>& roots) {
  std::vector<GraphEdge> edges;
  for (std::uint32_t i = 0; i < computation.instructions.size(); ++i) {
    const Instruction& instruction = computation.instructions[i];
    const auto& before = *instruction.control_predecessors;
    for (auto id = before.rbegin(); id != before.rend(); ++id) edges.emplace_back(i, id->value);
    for (const InstrId id : instruction.operands) edges.emplace_back(i, id.value);
  }
  const auto order = depth_first(computation.instructions.size(), edges, roots).post_order;
  return {order.begin(), order.end()};
}

std::vector<std::uint32_t> unused_instructions(const Computation& computation) {
  std::vector<bool> used(computation.instructions.size(), false);
  for (const Instruction& instruction : computation.instructions) {
    for (const InstrId id : instruction.operands) used[id.index()] = true;
  }
  std::vector<std::uint32_t> unused;
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    if (!used[i]) unused.push_back(i);
  }
  return unused;
}

std::vector<InstrId> order_by_content(const Computation& computation) {
  std::vector<std::uint32_t> roots = unused_instructions(computation);
  std::erase(roots, computation.root.value);
  std::ranges::sort(roots, {}, [&](std::uint32_t id) -> const std::string& {
    return computation.instructions[id].name;
  });
  roots.insert(roots.begin(), computation.root.value);
  return depth_first_order(computation, roots);
}

}  // namespace tilecast::ir

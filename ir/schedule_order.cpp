#include "ir/schedule_order.h"

#include <functional>
#include <queue>

#include "base/error.h"

namespace tilecast::ir {
namespace {

template <class Visit>
void for_each_predecessor(const Instruction& instruction, Visit&& visit) {
  for (const InstrId id : instruction.operands) visit(id);
  for (const InstrId id : instruction.control_predecessors) visit(id);
}

bool in_order(const Computation& computation) {
  for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
    bool ordered = true;
    for_each_predecessor(computation.instructions[i],
                         [&](InstrId id) { ordered &= id.index() < i; });
    if (!ordered) return false;
  }
  return true;
}

std::vector<InstrId> nearest_topological(const Computation& computation) {
  const std::size_t count = computation.instructions.size();
  std::vector<std::vector<std::uint32_t>> users(count);
  std::vector<std::uint32_t> waiting(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for_each_predecessor(computation.instructions[i], [&](InstrId id) {
      users[id.index()].push_back(static_cast<std::uint32_t>(i));
      ++waiting[i];
    });
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push(static_cast<std::uint32_t>(i));
  }
  std::vector<InstrId> order;
  while (!ready.empty()) {
    const std::uint32_t next = ready.top();
    ready.pop();
    order.emplace_back(std::size_t{next});
    for (const std::uint32_t user : users[next]) {
      if (--waiting[user] == 0) ready.push(user);
    }
  }
  if (order.size() != count) {
    throw Error("computation " + computation.name + ": its instructions form a cycle");
  }
  return order;
}

}  // namespace

std::vector<InstrId> schedule_order(const Computation& computation) {
  if (!in_order(computation)) return nearest_topological(computation);
  std::vector<InstrId> order;
  order.reserve(computation.instructions.size());
  for (std::size_t i = 0; i < computation.instructions.size(); ++i) order.emplace_back(i);
  return order;
}

}  // namespace tilecast::ir

// Deadlocks between devices in scheduled modules: a send waits for its receive, so no other
// collective may be scheduled between the two, and their source-target pairs may form no cycle.
// Only transfers that carry `_xla_send_recv_source_target_pairs` are judged (XLA on GPUs).
#include <algorithm>
#include <map>
#include <set>

#include "ir/schedule_order.h"
#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

using At = std::function<void(ComputationId, InstrId)>;
constexpr std::string_view kPairs = "_xla_send_recv_source_target_pairs";

bool is_other_collective(Opcode opcode) {
  using enum Opcode;
  return is_one_of(opcode, {kAllGather, kAllReduce, kAllToAll, kRaggedAllToAll, kCollectivePermute,
                            kReduceScatter, kCollectiveBroadcast});
}

struct Transfer {
  const Instruction* instruction;
  std::string key;  // the pairs as text; equal texts belong together
  Pairs pairs;
};

bool are_unique(const Pairs& pairs) {
  std::set<std::int64_t> sources;
  std::set<std::int64_t> targets;
  return std::all_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
    return sources.insert(pair.first).second && targets.insert(pair.second).second;
  });
}

// Along the first target of each source.
bool has_cycle(const Pairs& pairs) {
  std::map<std::int64_t, std::uint32_t> numbers;  // of the devices
  const auto number = [&](std::int64_t device) {
    return numbers.emplace(device, static_cast<std::uint32_t>(numbers.size())).first->second;
  };
  std::vector<GraphEdge> edges;
  std::set<std::int64_t> sources;
  for (const auto& [source, target] : pairs) {
    if (sources.insert(source).second) edges.emplace_back(number(source), number(target));
  }
  return depth_first(numbers.size(), edges).on_cycle.has_value();
}

void check_pairs(const Instruction& instruction, const Pairs& pairs) {
  fail_if(has_cycle(pairs),
          "Expected send and recv instructions to have non-cyclical source-target pairs, but found "
          "{}",
          instruction.name);
  fail_if(!are_unique(pairs),
          "Expected send and recv instructions to have unique source and target pairs, but found "
          "{}",
          instruction.name);
}

bool conflicts(const Transfer& transfer, const std::vector<Transfer>& others) {
  for (const Transfer& other : others) {
    Pairs both = transfer.pairs;
    both.insert(both.end(), other.pairs.begin(), other.pairs.end());
    if (has_cycle(both)) return true;
    if (!are_unique(both)) return true;
  }
  return false;
}

// Sends and receives that still wait for their partner, in schedule order.
class Pending {
 public:
  void add(Transfer transfer, bool is_send) {
    std::vector<Transfer>& own = is_send ? sends_ : recvs_;
    std::vector<Transfer>& other = is_send ? recvs_ : sends_;
    if (state_ == State::kNothing) {
      state_ = is_send ? State::kRecv : State::kSend;
      own.push_back(std::move(transfer));
      return;
    }
    const bool expected = (state_ == State::kSend) == is_send;
    if (!expected) {
      if (conflicts(transfer, own)) {
        fail("Expected {}, but found {}", is_send ? "recv" : "send", transfer.instruction->name);
      }
      own.push_back(std::move(transfer));
      return;
    }
    const auto partner = std::find_if(other.begin(), other.end(),
                                      [&](const Transfer& t) { return t.key == transfer.key; });
    if (partner == other.end()) {
      own.push_back(std::move(transfer));
      return;
    }
    other.erase(partner);
    if (other.empty()) state_ = State::kNothing;
  }

  void meet_collective(const Instruction& instruction) const {
    if (state_ == State::kNothing) return;
    fail_if(!sends_.empty() || !recvs_.empty(),
            "Expected send and recv instructions to have the same source-target pairs, but could "
            "not match some instructions. Introducing the following instruction will cause a "
            "deadlock: {}",
            instruction.name);
    fail("Expected send or recv, but found {}", instruction.name);
  }

  [[nodiscard]] bool waiting() const { return state_ != State::kNothing; }

  // At the end everything must have found its partner.
  void finish() {
    fail_if(recvs_.empty() && !sends_.empty(), "Expected recv to match send");
    fail_if(sends_.empty() && !recvs_.empty(), "Expected send to match recv");
    std::string left;
    for (const Transfer& send : sends_) {
      const auto partner = std::find_if(recvs_.begin(), recvs_.end(),
                                        [&](const Transfer& t) { return t.key == send.key; });
      if (partner == recvs_.end()) {
        left += send.instruction->name + ",";
      } else {
        recvs_.erase(partner);
      }
    }
    for (const Transfer& recv : recvs_) left += recv.instruction->name + ",";
    fail_if(!left.empty(), "Deadlock detected. Last checked instructions: {}", left);
  }

 private:
  enum class State : std::uint8_t { kNothing, kSend, kRecv };
  State state_ = State::kNothing;
  std::vector<Transfer> sends_, recvs_;
};

class DeadlockCheck {
 public:
  DeadlockCheck(const Module& module, const ModuleFacts& facts, const At& at)
      : module_(module), facts_(facts), at_(at), reaches_transfer_(module.computations.size()) {
    mark_reaching();
  }

  void run() {
    Pending pending;
    walk(module_.entry, pending);
    at_(module_.entry, InstrId());
    if (pending.waiting()) pending.finish();
  }

 private:
  bool holds_transfer(const Computation& computation) const {
    for (const Instruction& instruction : computation.instructions) {
      if (instruction.opcode == Opcode::kSend || instruction.opcode == Opcode::kRecv ||
          is_other_collective(instruction.opcode)) {
        return true;
      }
      for (const ComputationId callee : instruction.called) {
        if (reaches_transfer_[callee.index()]) return true;
      }
    }
    return false;
  }

  // Computations without transfers need not be walked each time they are called.
  void mark_reaching() {
    const std::size_t count = module_.computations.size();
    for (const std::uint32_t id : depth_first(count, call_edges(module_)).post_order) {
      reaches_transfer_[id] = holds_transfer(module_.computations[id]);
    }
  }

  static bool is_group(const Computation& computation) {
    return std::count_if(computation.instructions.begin(), computation.instructions.end(),
                         [](const Instruction& i) { return i.opcode != Opcode::kParameter; }) > 1;
  }

  void visit(const Instruction& instruction, Pending& pending) {
    const bool is_send = instruction.opcode == Opcode::kSend;
    if (!is_send && instruction.opcode != Opcode::kRecv) {
      if (is_other_collective(instruction.opcode)) pending.meet_collective(instruction);
      return;
    }
    const CollectiveAttrs* attrs = instruction.get<CollectiveAttrs>();
    if (attrs != nullptr && attrs->is_host_transfer) return;
    auto text = frontend_attribute(instruction, kPairs);
    if (!text || frontend_attribute(instruction, "_xla_send_recv_pipeline")) return;
    Pairs pairs = parse_pairs(*text);
    check_pairs(instruction, pairs);
    pending.add({&instruction, std::move(*text), std::move(pairs)}, is_send);
  }

  void walk(ComputationId id, Pending& pending) {
    if (++steps_ > kMostSteps) return;
    const Computation& computation = module_.at(id);
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      at_(id, InstrId(i));
      if (instruction.called.empty()) visit(instruction, pending);
      for (const ComputationId callee : instruction.called) {
        if (!reaches_transfer_[callee.index()]) continue;
        if (facts_.called_by_async[callee.index()] && is_group(module_.at(callee))) {
          Pending group;
          walk(callee, group);
          if (pending.waiting()) group.finish();
        } else {
          walk(callee, pending);
        }
      }
    }
  }

  static constexpr std::size_t kMostSteps = std::size_t{1} << 16;  // computations walked
  const Module& module_;
  const ModuleFacts& facts_;
  const At& at_;
  std::vector<bool> reaches_transfer_;
  std::size_t steps_ = 0;
};

}  // namespace

void check_deadlocks(const Module& module, const ModuleFacts& facts, const At& at) {
  if (!module.is_scheduled || !facts.has_send_recv) return;
  DeadlockCheck(module, facts, at).run();
}

}  // namespace tilecast::ir::verification

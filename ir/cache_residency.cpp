#include "ir/cache_residency.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "ir/fusion/fusion_rules.h"
#include "ir/ops/index_map.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

// Reuse distances spread around their mean: all stays up to this share of a cache
// (analytical/reuse.h).
constexpr double kHeldShare = 0.75;
// Arrays more recent than one that is looked for; beyond so many it counts as far away.
constexpr std::size_t kMostRecent = 4096;

using BufferId = std::int32_t;
constexpr BufferId kNone = -1;

struct Buffer {
  struct Name {
    InstrId instruction;
    std::int64_t element = -1;  // of a tuple
  };
  std::vector<Name> names;
  double bytes = 0;
  double touched = 0;   // at its last use
  double distance = 0;  // the furthest
  bool read = false;
};

// What one use of an operand touches: all of it, or the slices and updates that its users take.
double used_bytes(const Computation& computation, const UserLists& users, InstrId id) {
  const double whole = bytes(computation.at(id).shape);
  double sum = 0;
  for (const InstrId user : users[id.index()]) {
    const Instruction& op = computation.at(user);
    if (op.opcode == Opcode::kBitcast) {
      sum += used_bytes(computation, users, user);
      continue;
    }
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      if (op.operands[i] != id) continue;
      const OperandUse use = operand_use(op.opcode, op.operands.size(), i);
      if (use == OperandUse::kPart) {
        sum += bytes(op.shape);
      } else if (const auto with = replacement_of(op.opcode, op.operands.size(), i)) {
        sum += bytes(computation.at(op.operands[*with]).shape);
      } else {
        return whole;
      }
    }
  }
  return std::min(sum, whole);
}

// The operand whose buffer the value is, changed in place; nullopt if it has one of its own.
std::optional<InstrId> updated(const Computation& computation, InstrId id) {
  const Instruction* op = &computation.at(id);
  bool updates = false;
  while (updates_in_place(*op) || op->opcode == Opcode::kBitcast) {
    updates |= updates_in_place(*op);
    id = op->operands[0];
    op = &computation.at(id);
  }
  return updates ? std::optional(id) : std::nullopt;
}

class CacheWalk {
 public:
  CacheWalk(const Module& module, const Computation& computation, double capacity)
      : module_(module),
        computation_(computation),
        users_(user_lists(computation)),
        leaves_(computation.instructions.size()),
        capacity_(capacity) {}

  [[nodiscard]] std::vector<Buffer> run() {
    const std::vector<InstrId> order = schedule_order(computation_);
    for (const InstrId id : order) assign(id);
    for (const bool records : {false, true}) {
      records_ = records;
      for (const InstrId id : order) use(id);
    }
    return std::move(buffers_);
  }

 private:
  void assign(InstrId id) {
    const Instruction& op = computation_.at(id);
    std::vector<BufferId>& leaves = leaves_[id.index()];
    if (op.opcode == Opcode::kTuple) {
      for (const InstrId operand : op.operands) leaves.push_back(first(operand));
    } else if (op.opcode == Opcode::kGetTupleElement) {
      const auto index = static_cast<std::size_t>(op.as<IndexAttrs>().index);
      const std::vector<BufferId>& all = leaves_[op.operands[0].index()];
      leaves.push_back(index < all.size() ? all[index] : kNone);
    } else if (op.opcode == Opcode::kBitcast || op.opcode == Opcode::kWhile) {
      leaves = leaves_[op.operands[0].index()];
    } else {
      make(id, op, leaves);
    }
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const bool tuple = op.shape.is_tuple();
      if (leaves[i] == kNone) continue;
      buffers_[leaves[i]].names.push_back({id, tuple ? static_cast<std::int64_t>(i) : -1});
    }
  }

  void make(InstrId id, const Instruction& op, std::vector<BufferId>& leaves) {
    if (!op.shape.is_tuple()) {
      const auto target = target_of(id);
      leaves.push_back(target ? *target : fresh(op.shape));
      return;
    }
    for (std::size_t i = 0; i < op.shape.elements.size(); ++i) {
      leaves.push_back(fresh(op.shape.elements[i]));
    }
  }

  [[nodiscard]] std::optional<BufferId> target_of(InstrId id) const {
    const Instruction& op = computation_.at(id);
    if (updates_in_place(op)) return first(op.operands[0]);
    if (op.opcode != Opcode::kFusion) return std::nullopt;
    const Computation& fused = module_.at(op.called[0]);
    const auto target = updated(fused, fused.root);
    if (!target || fused.at(*target).opcode != Opcode::kParameter) return std::nullopt;
    const auto place = std::ranges::find(fused.parameters, *target);
    return first(op.operands[static_cast<std::size_t>(place - fused.parameters.begin())]);
  }

  [[nodiscard]] BufferId first(InstrId id) const {
    const std::vector<BufferId>& leaves = leaves_[id.index()];
    return leaves.empty() ? kNone : leaves.front();
  }

  BufferId fresh(const Shape& shape) {
    Buffer buffer;
    buffer.bytes = buffer.touched = bytes(shape);
    buffers_.push_back(std::move(buffer));
    return static_cast<BufferId>(buffers_.size() - 1);
  }

  void use(InstrId id) {
    const Instruction& op = computation_.at(id);
    if (op_class(op.opcode) == OpClass::kFree) return;
    const Computation* fused = op.opcode == Opcode::kFusion ? &module_.at(op.called[0]) : nullptr;
    const UserLists inside = fused != nullptr ? user_lists(*fused) : UserLists{};
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const std::vector<BufferId>& leaves = leaves_[op.operands[i].index()];
      if (leaves.size() != 1) {  // state of a loop, arguments of a call
        for (const BufferId leaf : leaves)
          touch(leaf, std::numeric_limits<double>::infinity(), true);
      } else if (fused != nullptr) {
        touch(leaves[0], used_bytes(*fused, inside, fused->parameters[i]), true);
      } else {
        touch(leaves[0], direct_bytes(op, i), true);
      }
    }
    for (const BufferId leaf : leaves_[id.index()]) {
      const bool in_place = std::ranges::any_of(op.operands, [&](InstrId operand) {
        return std::ranges::find(leaves_[operand.index()], leaf) != leaves_[operand.index()].end();
      });
      if (!in_place) touch(leaf, std::numeric_limits<double>::infinity(), false);
    }
  }

  [[nodiscard]] double direct_bytes(const Instruction& op, std::size_t operand) const {
    const std::size_t count = op.operands.size();
    if (operand_use(op.opcode, count, operand) == OperandUse::kPart) return bytes(op.shape);
    const auto with = replacement_of(op.opcode, count, operand);
    return with ? bytes(computation_.at(op.operands[*with]).shape)
                : bytes(computation_.at(op.operands[operand]).shape);
  }

  // `amount`: bytes, at most all of the array. What is written counts only if nothing reads it.
  void touch(BufferId id, double amount, bool reads) {
    if (id == kNone) return;
    Buffer& buffer = buffers_[id];
    const auto place = std::find(recent_.rbegin(), recent_.rend(), id);
    const double used = std::min(amount, buffer.bytes);
    double distance = used;
    std::size_t steps = 0;
    for (auto at = recent_.rbegin(); at != place && distance <= capacity_; ++at, ++steps) {
      distance = steps < kMostRecent ? distance + buffers_[*at].touched
                                     : std::numeric_limits<double>::infinity();
    }
    if (used < buffer.bytes) distance = std::max(distance, buffer.bytes);
    if (records_ && (reads || !buffer.read)) {
      buffer.distance = reads && !buffer.read ? distance : std::max(buffer.distance, distance);
    }
    buffer.read |= reads && records_;
    buffer.touched = used;
    if (place != recent_.rend()) recent_.erase(std::prev(place.base()));
    recent_.push_back(id);
  }

  const Module& module_;
  const Computation& computation_;
  UserLists users_;
  std::vector<std::vector<BufferId>> leaves_;  // by instruction
  double capacity_;
  std::vector<Buffer> buffers_;
  std::vector<BufferId> recent_;  // the last used last
  bool records_ = false;
};

}  // namespace

std::size_t find_in_caches(Module& module, std::span<const double> capacities) {
  std::size_t count = 0;
  if (capacities.empty() || capacities.front() <= 0) return count;
  const std::vector<bool> sequential = sequential_computations(module);
  for (std::size_t c = 0; c < module.computations.size(); ++c) {
    if (!sequential[c]) continue;
    Computation& computation = module.computations[c];
    for (const Buffer& buffer : CacheWalk(module, computation, capacities.front()).run()) {
      const auto holds = [&](double capacity) { return buffer.distance <= kHeldShare * capacity; };
      const auto level = static_cast<int>(std::ranges::count_if(capacities, holds));
      if (level == 0) continue;
      ++count;
      for (const auto& [id, element] : buffer.names) {
        Shape& shape = computation.instructions[id.index()].shape;
        Shape& part = element < 0 ? shape : shape.elements[static_cast<std::size_t>(element)];
        if (!part.is_array()) continue;
        if (!part.has_layout()) part.layout = default_layout(part.rank());
        part.layout.edit().cache = level;
      }
    }
  }
  return count;
}

}  // namespace tilecast::ir

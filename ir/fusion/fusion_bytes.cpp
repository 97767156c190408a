// Bytes of a fusion. Intermediate values never reach memory, so bytes are computed from how the
// fused parameters are used (XLA's HloCostAnalysis::HandleFusion, FusionParameterReadBytes).
#include <algorithm>
#include <map>
#include <utility>

#include "ir/counts/op_counts.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

bool is_operand_zero(const Instruction& user, InstrId id) {
  return !user.operands.empty() && user.operands.front() == id;
}

bool reads_part(Opcode opcode) {
  return has(opcode, Trait::kSlices) || opcode == Opcode::kDynamicUpdateSlice;
}

// Bytes read through fused parameters. One per fusion; caches nested results.
class ParameterReads {
 public:
  ParameterReads(const Module& module, const WorkCounter& counter)
      : module_(module), counter_(counter) {}

  // The bytes that HloCostAnalysis counts as read for a parameter (or a get-tuple-element of one).
  long double of(ComputationId callee, InstrId id) {
    const auto key = std::pair(callee.index(), id.index());
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
    const Computation& computation = module_.at(callee);
    long double total = 0;
    bool full = false;
    for (const InstrId user_id : users(callee)[id.index()]) {
      const Instruction& user = computation.at(user_id);
      if (reads_part(user.opcode)) {
        total += slice_read(computation, id, user, full);
      } else if (user.opcode == Opcode::kBroadcast || user.opcode == Opcode::kReshape) {
        total += size(computation.at(id));
      } else if (user.opcode == Opcode::kFusion && !user.called.empty()) {
        total += nested_read(callee, id, user_id);
      } else {
        total += once(computation.at(id), full);
      }
    }
    return known_[key] = total;
  }

  const UserLists& users(ComputationId id) {
    const auto [it, inserted] = users_.try_emplace(id.index());
    if (inserted) it->second = user_lists(module_.at(id));
    return it->second;
  }

 private:
  long double size(const Instruction& op) const { return real(counter_.shape_bytes(op.shape)); }
  long double once(const Instruction& op, bool& full) const {
    return std::exchange(full, true) ? 0 : size(op);
  }

  long double slice_read(const Computation& computation, InstrId id, const Instruction& user,
                         bool& full) const {
    if (user.opcode == Opcode::kSlice) return size(user);
    if (!is_operand_zero(user, id)) return once(computation.at(id), full);
    return has(user.opcode, Trait::kSlices) ? size(user) : 0;  // an in-place update reads none
  }

  // For a nested fusion, the reads of its own users count if it only forwards the value.
  long double nested_read(ComputationId callee, InstrId id, InstrId fusion_id) {
    const Computation& computation = module_.at(callee);
    const Instruction& fusion = computation.at(fusion_id);
    const ComputationId inner = fusion.called.front();
    const Computation& body = module_.at(inner);
    const Instruction& root = body.root_instruction();
    long double total = 0;
    for (std::size_t i = 0; i < fusion.operands.size() && i < body.parameters.size(); ++i) {
      if (fusion.operands[i] != id) continue;
      const InstrId parameter = body.parameters[i];
      const bool simple = root.operands.empty() || is_operand_zero(root, parameter);
      bool full = false;
      for (const InstrId user_id : users(callee)[fusion_id.index()]) {
        const Instruction& user = computation.at(user_id);
        if (simple && reads_part(user.opcode)) {
          total += slice_read(computation, fusion_id, user, full);
        } else if (!std::exchange(full, true)) {
          total += of(inner, parameter);
        }
      }
    }
    return total;
  }

  const Module& module_;
  const WorkCounter& counter_;
  std::map<std::pair<std::size_t, std::size_t>, long double> known_;
  std::map<std::size_t, UserLists> users_;
};

// A tuple parameter is read leaf by leaf, each through its chain of get-tuple-elements if it has
// one.
long double read_leaves(ParameterReads& reads, const Computation& body, ComputationId callee,
                        InstrId at, const Shape& shape) {
  if (!shape.is_tuple()) return reads.of(callee, at);
  long double total = 0;
  for (std::size_t i = 0; i < shape.elements.size(); ++i) {
    InstrId next = at;
    for (const InstrId user_id : reads.users(callee)[at.index()]) {
      const Instruction& user = body.at(user_id);
      const auto* attrs = user.get<IndexAttrs>();
      if (user.opcode == Opcode::kGetTupleElement && attrs != nullptr &&
          attrs->index == static_cast<std::int64_t>(i)) {
        next = user_id;
        break;
      }
    }
    total += read_leaves(reads, body, callee, next, shape.elements[i]);
  }
  return total;
}

// For an output written in place by a dynamic-update-slice, only the update counts.
long double written_bytes(const CountedOp& op, const Computation& body) {
  const auto produced_by = [&](const Instruction& producer, const Shape& leaf) {
    const bool in_place =
        producer.opcode == Opcode::kDynamicUpdateSlice && producer.operands.size() > 1;
    return real(op.counter.shape_bytes(in_place ? body.at(producer.operands[1]).shape : leaf));
  };
  const Instruction& root = body.root_instruction();
  if (op.op.shape.is_array()) return produced_by(root, op.op.shape);
  long double total = 0;
  for (std::size_t i = 0; i < op.op.shape.elements.size(); ++i) {
    const Shape& element = op.op.shape.elements[i];
    if (element.is_array() && root.opcode == Opcode::kTuple && i < root.operands.size()) {
      total += produced_by(body.at(root.operands[i]), element);
    } else {
      for_each_leaf(element, [&](const Shape& leaf) {
        if (leaf.is_array()) total += real(op.counter.shape_bytes(leaf));
      });
    }
  }
  return total;
}

// Fusions that the backend creates around one gather or scatter count as that op.
std::optional<WorkCounts> count_custom_fusion(const CountedOp& op, const Computation& body) {
  const auto* attrs = op.op.get<FusionAttrs>();
  if (attrs == nullptr || attrs->kind != FusionKind::kCustom) return std::nullopt;
  for (const Instruction& inner : body.instructions) {
    if (op_class(inner.opcode) != OpClass::kIndexed) continue;
    WorkCounts counts = default_counts(op);
    const CountedOp indexed{op.module, body, inner, op.counter};
    inner.opcode == Opcode::kGather ? count_gather(indexed, counts)
                                    : count_scatter(indexed, counts);
    return counts;
  }
  return std::nullopt;
}

}  // namespace

WorkCounts count_fusion(const CountedOp& op) {
  if (op.op.called.empty()) return default_counts(op);
  const ComputationId callee = op.op.called.front();
  const Computation& body = op.module.at(callee);
  if (auto custom = count_custom_fusion(op, body)) return *custom;
  const WorkCounts& inside = op.counter.total(callee);
  WorkCounts counts;
  counts.flops = inside.flops;
  counts.transcendentals = inside.transcendentals;
  counts.output_bytes = saturated(written_bytes(op, body));
  counts.bytes_accessed = counts.output_bytes;
  const auto add_bytes = [&](float bytes) {
    counts.bytes_accessed = saturated(real(counts.bytes_accessed + bytes));
  };
  for (const Instruction& inner : body.instructions) {
    if (inner.opcode == Opcode::kConstant && inner.shape.is_array() &&
        element_count(inner.shape) > 1) {
      add_bytes(saturated(real(op.counter.shape_bytes(inner.shape))));
    }
  }
  ParameterReads reads(op.module, op.counter);
  for (std::size_t i = 0; i < op.operand_count(); ++i) {
    float bytes = 0;
    if (i < body.parameters.size()) {
      const InstrId parameter = body.parameters[i];
      bytes = saturated(read_leaves(reads, body, callee, parameter, body.at(parameter).shape));
    }
    counts.operand_bytes.push_back(bytes);
    add_bytes(bytes);
  }
  return counts;
}

}  // namespace tilecast::ir

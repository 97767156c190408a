// The live ranges of a module's arrays: all array leaves of all scheduled instructions, after
// calls, loops and branches are inlined at their position in the schedule.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "ir/memory/buffer_sharing.h"
#include "ir/memory/memory_use.h"

namespace tilecast::ir {

using ValueId = std::uint32_t;
using Position = std::uint32_t;  // in the inlined schedule; 0 is before the first instruction

struct LiveValue {
  ComputationId computation;
  InstrId instruction;
  std::uint32_t leaf = 0;
  BufferKind kind = BufferKind::kTemporary;
  bool donated = false;  // an argument whose buffer is free after its last use
  double bytes = 0;      // 0: in another memory space, or merged with another value
  Position first = 0, last = 0;
};

struct ScheduledAt {
  ComputationId computation;
  InstrId instruction;
};

struct LiveValues {
  std::vector<LiveValue> values;
  std::vector<ScheduledAt> schedule;  // by position; no instruction at the first and last
  double aliased = 0;                 // bytes of outputs that reuse an argument's buffer
  std::size_t unsized = 0;
};

class LivenessWalk {
 public:
  LivenessWalk(const Module& module, int space)
      : module_(module), sharing_(module), space_(space) {}
  [[nodiscard]] LiveValues run();

 private:
  // The values of one instruction's leaves, depth first, in Frame::leaves.
  struct Leaves {
    std::size_t begin = 0, count = 0;
    bool flat = false;  // elements are arrays: leaf i is element i
  };
  struct Frame {
    ComputationId id;
    std::vector<Leaves> of;  // by instruction
    std::vector<ValueId> leaves;
  };
  // `taker`, produced at `at` by an op that reads `giver` until `until`, may reuse its buffer.
  struct Share {
    ValueId taker, giver;
    Position at, until;
  };

  std::vector<ValueId> walk(ComputationId id, std::span<const ValueId> arguments, int depth);
  void visit(Frame& frame, InstrId id, int depth);
  bool visit_free(Frame& frame, InstrId id);
  void visit_while(Frame& frame, InstrId id, int depth);
  void visit_conditional(Frame& frame, InstrId id, int depth);
  void visit_call(Frame& frame, InstrId id, int depth);
  void visit_start(Frame& frame, InstrId id);
  void visit_done(Frame& frame, InstrId id);
  void visit_kernel(Frame& frame, InstrId id);
  void extend_shares(std::span<const ValueId> made);
  // Records which results of an op may reuse its operands' buffers.
  void note_shares(const Frame& frame, InstrId id, std::span<const ValueId> made);
  void close_entry(std::vector<ValueId> roots);

  [[nodiscard]] const Instruction& at(const Frame& frame, InstrId id) const {
    return module_.at(frame.id).at(id);
  }
  [[nodiscard]] std::span<const ValueId> leaves_of(const Frame& frame, InstrId id) const {
    const Leaves& leaves = frame.of[id.index()];
    return std::span(frame.leaves).subspan(leaves.begin, leaves.count);
  }
  [[nodiscard]] std::vector<ValueId> all_leaves(const Frame& frame, const Instruction& op) const;
  void set_leaves(Frame& frame, InstrId id, std::span<const ValueId> leaves);
  std::vector<ValueId> make_values(const Frame& frame, InstrId id, BufferKind kind);
  ValueId make_value(LiveValue value, const Shape& leaf);
  [[nodiscard]] ValueId find(ValueId id);
  void use(ValueId id) { values_[find(id)].last = std::max(values_[find(id)].last, now_); }
  void use(std::span<const ValueId> ids) {
    for (const ValueId id : ids) use(id);
  }
  void use_operands(const Frame& frame, const Instruction& op);
  void step(ComputationId computation, InstrId instruction);
  void settle_shares();

  const Module& module_;
  BufferSharing sharing_;
  int space_;
  std::vector<LiveValue> values_;
  std::vector<ValueId> same_as_;  // by value: itself, or the value it was merged with
  std::vector<Share> shares_;
  std::vector<ScheduledAt> schedule_;
  Position now_ = 0;
  double aliased_ = 0;
  std::size_t visited_ = 0, unsized_ = 0;
};

}  // namespace tilecast::ir

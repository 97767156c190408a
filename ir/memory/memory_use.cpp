#include "ir/memory/memory_use.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/array_elements.h"
#include "ir/memory/buffer_sharing.h"
#include "ir/memory/heap_placement.h"
#include "ir/ops/op_row.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

// The live ranges of a module's arrays: all array leaves of all scheduled instructions, after
// calls, loops and branches are inlined at their position in the schedule.

using ValueId = std::uint32_t;
constexpr ValueId kNoValue = UINT32_MAX;
using Position = std::uint32_t;  // in the inlined schedule; 0 is before the first instruction

struct LiveValue {
  ComputationId computation;
  InstrId instruction;
  std::uint32_t leaf = 0;
  BufferKind kind = BufferKind::kTemporary;
  bool donated = false;  // an argument whose buffer is free after its last use
  double bytes = 0;      // 0: in another memory space, or merged with another value
  Position first = 0, last = 0;
  Position last_read = 0;    // `last` before another value took over the buffer
  ValueId took = kNoValue;   // whose buffer it took over
  bool in_argument = false;  // an output in the buffer of a donated argument
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
  bool on_host = false;  // some arrays lie in the host's memory
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
    bool on_heap = true;  // false: only where the taker has a buffer of its own
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
  void reserve_outputs();

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
  bool on_host_ = false;
};

constexpr int kDeepestCall = 256;
constexpr std::size_t kMostInlined = 4'000'000;

Layout layout_of(const Shape& shape) {
  return shape.layout ? *shape.layout : default_layout(shape.rank());
}

// True if the op does not move elements: a reshape of untiled row-major arrays, or a transpose that
// is undone by its layouts. XLA turns them into bitcasts.
bool is_view(const Computation& computation, const Instruction& op) {
  if (!has(op.opcode, Trait::kRelayout) || has(op.opcode, Trait::kIdentity)) return false;
  const Shape& from = computation.at(op.operands[0]).shape;
  const Layout operand = layout_of(from);
  Layout result = layout_of(op.shape);
  if (has(op.opcode, Trait::kReshapes)) {
    return operand == default_layout(from.rank()) && result == default_layout(op.shape.rank());
  }
  for (std::int64_t& dim : result.minor_to_major)
    dim = op.dimensions[static_cast<std::size_t>(dim)];
  return result == operand;
}

// Whether the result's leaves alias those of operand 0.
bool names_operand(const Computation& computation, const Instruction& op) {
  return passes_bytes_on(op.opcode) || op.opcode == Opcode::kAsyncUpdate || is_annotation(op) ||
         is_view(computation, op);
}

// The element of an asynchronous start's tuple that holds the operands; the others are new arrays.
std::optional<std::size_t> operand_element(const Instruction& op) {
  const int element = op_row(op.opcode).tuple.operands;
  if (!op.shape.is_tuple() || element == StartTuple::kNone) return std::nullopt;
  return static_cast<std::size_t>(element);
}

LiveValues LivenessWalk::run() {
  schedule_.push_back({});
  const Computation& entry = module_.entry_computation();
  std::vector<ValueId> arguments;
  for (const InstrId id : entry.parameters) {
    std::uint32_t leaf = 0;
    for_each_leaf(entry.at(id).shape, [&](const Shape& shape) {
      arguments.push_back(make_value({.computation = module_.entry,
                                      .instruction = id,
                                      .leaf = leaf++,
                                      .kind = BufferKind::kArgument},
                                     shape));
    });
  }
  close_entry(walk(module_.entry, arguments, 0));
  settle_shares();
  reserve_outputs();
  return {std::move(values_), std::move(schedule_), aliased_, unsized_, on_host_};
}

void LivenessWalk::step(ComputationId computation, InstrId instruction) {
  ++now_;
  schedule_.push_back({computation, instruction});
}

ValueId LivenessWalk::make_value(LiveValue value, const Shape& leaf) {
  on_host_ |= leaf.is_array() && leaf.memory_space() == kHostMemory;
  if (leaf.is_array() && leaf.memory_space() == space_) {
    if (leaf.is_unbounded()) {
      ++unsized_;
    } else {
      value.bytes = static_cast<double>(padded_bytes(leaf));
    }
  } else if (leaf.dtype == DType::kBuffer && !leaf.elements.empty() &&
             leaf.elements[0].is_array() && leaf.elements[0].memory_space() == space_) {
    value.bytes = static_cast<double>(padded_bytes(leaf.elements[0]));
  }
  value.first = value.last = now_;
  values_.push_back(value);
  same_as_.push_back(static_cast<ValueId>(values_.size() - 1));
  return same_as_.back();
}

std::vector<ValueId> LivenessWalk::make_values(const Frame& frame, InstrId id, BufferKind kind) {
  std::vector<ValueId> made;
  std::uint32_t leaf = 0;
  for_each_leaf(at(frame, id).shape, [&](const Shape& shape) {
    made.push_back(make_value(
        {.computation = frame.id, .instruction = id, .leaf = leaf++, .kind = kind}, shape));
  });
  return made;
}

ValueId LivenessWalk::find(ValueId id) {
  while (same_as_[id] != id) {
    same_as_[id] = same_as_[same_as_[id]];
    id = same_as_[id];
  }
  return id;
}

void LivenessWalk::set_leaves(Frame& frame, InstrId id, std::span<const ValueId> leaves) {
  const Shape& shape = at(frame, id).shape;
  const bool flat = shape.is_tuple() && std::ranges::none_of(shape.elements, &Shape::is_tuple);
  frame.of[id.index()] = {frame.leaves.size(), leaves.size(), flat};
  frame.leaves.insert(frame.leaves.end(), leaves.begin(), leaves.end());
}

std::vector<ValueId> LivenessWalk::all_leaves(const Frame& frame, const Instruction& op) const {
  std::vector<ValueId> all;
  for (const InstrId operand : op.operands) {
    const auto leaves = leaves_of(frame, operand);
    all.insert(all.end(), leaves.begin(), leaves.end());
  }
  return all;
}

void LivenessWalk::use_operands(const Frame& frame, const Instruction& op) {
  for (const InstrId operand : op.operands) use(leaves_of(frame, operand));
}

std::vector<ValueId> LivenessWalk::walk(ComputationId id, std::span<const ValueId> arguments,
                                        int depth) {
  const Computation& computation = module_.at(id);
  if (depth > kDeepestCall) {
    throw Error("module " + module_.name + ": calls nest deeper than 256");
  }
  visited_ += computation.instructions.size();
  if (visited_ > kMostInlined) {
    throw Error("module " + module_.name +
                ": more than 4 million instructions once its calls are inlined");
  }
  Frame frame{id, std::vector<Leaves>(computation.instructions.size()), {}};
  std::size_t begin = 0;
  for (const InstrId parameter : computation.parameters) {
    const std::size_t count = leaf_count(computation.at(parameter).shape);
    TC_CHECK(begin + count <= arguments.size(), "an argument per leaf of the parameters");
    set_leaves(frame, parameter, arguments.subspan(begin, count));
    begin += count;
  }
  for (const InstrId next : schedule_order(computation)) visit(frame, next, depth);
  const auto roots = leaves_of(frame, computation.root);
  return {roots.begin(), roots.end()};
}

void LivenessWalk::visit(Frame& frame, InstrId id, int depth) {
  const Instruction& op = at(frame, id);
  if (visit_free(frame, id)) return;
  step(frame.id, id);
  if (op.opcode == Opcode::kWhile) return visit_while(frame, id, depth);
  if (op.opcode == Opcode::kConditional) return visit_conditional(frame, id, depth);
  if (op.opcode == Opcode::kCall) return visit_call(frame, id, depth);
  if (op_class(op.opcode) == OpClass::kAsyncDone) return visit_done(frame, id);
  if (starts_asynchronously(op.opcode)) return visit_start(frame, id);
  visit_kernel(frame, id);
}

// Handles ops that produce no array but refer to those of their operands. Returns true if `id` is
// one.
bool LivenessWalk::visit_free(Frame& frame, InstrId id) {
  const Computation& computation = module_.at(frame.id);
  const Instruction& op = computation.at(id);
  if (op.opcode == Opcode::kParameter) return true;
  if (op.opcode == Opcode::kConstant) {
    const std::vector<ValueId> made = make_values(frame, id, BufferKind::kConstant);
    set_leaves(frame, id, made);
    return true;
  }
  if (op.opcode == Opcode::kTuple) {
    set_leaves(frame, id, all_leaves(frame, op));
    return true;
  }
  if (op.opcode == Opcode::kGetTupleElement) {
    const InstrId operand = op.operands.at(0);
    const Leaves& tuple = frame.of[operand.index()];
    const auto element = static_cast<std::size_t>(op.as<IndexAttrs>().index);
    const Shape& shape = computation.at(operand).shape;
    const std::size_t begin = tuple.flat ? element : leaves_before(shape, element);
    const std::size_t count = tuple.flat ? 1 : leaf_count(op.shape);
    const bool flat =
        op.shape.is_tuple() && std::ranges::none_of(op.shape.elements, &Shape::is_tuple);
    frame.of[id.index()] = {tuple.begin + begin, count, flat};
    return true;
  }
  if (names_operand(computation, op)) {
    frame.of[id.index()] = frame.of[op.operands.at(0).index()];
    return true;
  }
  return false;
}

void LivenessWalk::visit_kernel(Frame& frame, InstrId id) {
  const Instruction& op = at(frame, id);
  use_operands(frame, op);
  const std::vector<ValueId> made = make_values(frame, id, BufferKind::kTemporary);
  note_shares(frame, id, made);
  set_leaves(frame, id, made);
}

void LivenessWalk::note_shares(const Frame& frame, InstrId id, std::span<const ValueId> made) {
  const Instruction& op = at(frame, id);
  for (const BufferShare& share : sharing_.shares(module_.at(frame.id), op)) {
    const auto operand = leaves_of(frame, op.operands[share.operand]);
    if (share.output >= made.size() || share.operand_leaf >= operand.size()) continue;
    const ValueId giver = operand[share.operand_leaf];
    const LiveValue& given = values_[find(giver)];
    const bool is_made_there =
        given.computation == frame.id && given.instruction == op.operands[share.operand];
    shares_.push_back({made[share.output], giver, now_, now_, share.in_place || is_made_there});
  }
}

// Extends the shares of an asynchronous op, which reads its operands until it is done.
void LivenessWalk::extend_shares(std::span<const ValueId> made) {
  for (Share& share : shares_) {
    if (std::ranges::find(made, share.taker) != made.end()) share.until = now_;
  }
}

// The tuple of a start refers to its operands and holds the new arrays; both are live until the
// done op.
void LivenessWalk::visit_start(Frame& frame, InstrId id) {
  const Instruction& op = at(frame, id);
  const auto named = operand_element(op);
  if (!named) return visit_kernel(frame, id);
  use_operands(frame, op);
  std::vector<ValueId> leaves = make_values(frame, id, BufferKind::kTemporary);
  const std::vector<ValueId> operands = all_leaves(frame, op);
  const std::size_t begin = leaves_before(op.shape, *named);
  const std::size_t count =
      *named < op.shape.elements.size() ? leaf_count(op.shape.elements[*named]) : 0;
  for (std::size_t i = 0; i < std::min(count, operands.size()); ++i) {
    values_[leaves[begin + i]].bytes = 0;
    leaves[begin + i] = operands[i];
  }
  note_shares(frame, id, leaves);
  set_leaves(frame, id, leaves);
}

void LivenessWalk::visit_done(Frame& frame, InstrId id) {
  const Instruction& op = at(frame, id);
  InstrId start = op.operands.at(0);
  use(leaves_of(frame, start));
  while (at(frame, start).opcode == Opcode::kAsyncUpdate) start = at(frame, start).operands.at(0);
  use_operands(frame, at(frame, start));
  const Instruction& begun = at(frame, start);
  const auto leaves = leaves_of(frame, start);
  if (is_async_chain(begun.opcode)) extend_shares(leaves);
  const auto named = operand_element(begun);
  const std::size_t begin = named && *named == 0 ? leaves_before(begun.shape, 1) : 0;
  const std::size_t count = leaf_count(op.shape);
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_there = begun.opcode != Opcode::kSend && begin + i < leaves.size();
    results.push_back(is_there ? leaves[begin + i] : make_value({}, Shape::token()));
  }
  set_leaves(frame, id, results);
}

void LivenessWalk::visit_call(Frame& frame, InstrId id, int depth) {
  const Instruction& op = at(frame, id);
  use_operands(frame, op);
  const std::vector<ValueId> results = walk(op.called.at(0), all_leaves(frame, op), depth + 1);
  set_leaves(frame, id, results);
}

// Branches are placed one after the other, so that their arrays do not overlap in time.
void LivenessWalk::visit_conditional(Frame& frame, InstrId id, int depth) {
  const Instruction& op = at(frame, id);
  use_operands(frame, op);
  for (std::size_t i = 0; i < op.called.size(); ++i) {
    const auto operand = leaves_of(frame, op.operands.at(i + 1));
    const std::vector<ValueId> roots = walk(op.called[i], operand, depth + 1);
    use(roots);
  }
  step(frame.id, id);
  set_leaves(frame, id, make_values(frame, id, BufferKind::kTemporary));
}

// Each state leaf is a new array, which reuses the buffer of its initial value if that has no later
// reader. Leaves that the body passes through unchanged remain the original arrays.
void LivenessWalk::visit_while(Frame& frame, InstrId id, int depth) {
  const Instruction& op = at(frame, id);
  use_operands(frame, op);
  const std::vector<ValueId> start = all_leaves(frame, op);
  std::vector<ValueId> state = make_values(frame, id, BufferKind::kTemporary);
  TC_CHECK(start.size() == state.size(), "a loop's state has the shape of its operand");
  const Position entered = now_;
  (void)walk(op.called.at(0), state, depth + 1);
  use(state);
  const std::vector<ValueId> next = walk(op.called.at(1), state, depth + 1);
  use(next);
  const Position body_end = now_;
  step(frame.id, id);
  std::vector<ValueId> results = make_values(frame, id, BufferKind::kTemporary);
  for (std::size_t i = 0; i < state.size(); ++i) {
    const ValueId held = find(state[i]);
    if (find(next[i]) != held) {
      shares_.push_back({state[i], start[i], entered, entered});
      continue;
    }
    LiveValue& outside = values_[find(start[i])];
    outside.last = std::max({outside.last, values_[held].last, body_end});
    values_[held].bytes = values_[results[i]].bytes = 0;
    same_as_[held] = find(start[i]);
    results[i] = find(start[i]);
  }
  set_leaves(frame, id, results);
}

// Results of the entry are live to the end. Arguments and constants are returned as copies, unless
// the argument is aliased with that output.
void LivenessWalk::close_entry(std::vector<ValueId> roots) {
  const Computation& entry = module_.entry_computation();
  std::vector<std::size_t> first_leaf;  // per parameter: its first leaf among the arguments
  std::size_t leaves = 0;
  for (const InstrId id : entry.parameters) {
    first_leaf.push_back(leaves);
    leaves += leaf_count(entry.at(id).shape);
  }
  std::vector<ValueId> donor(roots.size(), kNoValue);
  for (const Alias& alias : module_.input_output_alias) {
    if (alias.operand < 0 || alias.operand >= std::ssize(entry.parameters)) continue;
    const auto parameter = static_cast<std::size_t>(alias.operand);
    const auto output = leaf_at(entry.root_instruction().shape, alias.output_index);
    const auto leaf = leaf_at(entry.at(entry.parameters[parameter]).shape, alias.operand_index);
    if (!output || !leaf || *output >= donor.size()) continue;
    donor[*output] = static_cast<ValueId>(first_leaf[parameter] + *leaf);
    values_[donor[*output]].donated = true;
    aliased_ += values_[donor[*output]].bytes;
  }
  step({}, {});
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const ValueId id = find(roots[i]);
    values_[id].last = now_;
    if (id == donor[i]) continue;
    values_[id].in_argument = donor[i] != kNoValue;
    if (values_[id].kind == BufferKind::kTemporary) {
      values_[id].kind = BufferKind::kOutput;
      continue;
    }
    LiveValue copy = values_[id];
    copy.kind = BufferKind::kOutput;
    copy.donated = false;
    copy.first = now_;
    values_.push_back(copy);
    same_as_.push_back(static_cast<ValueId>(values_.size() - 1));
  }
}

// In schedule order, because a buffer can be taken over only once.
void LivenessWalk::settle_shares() {
  for (LiveValue& value : values_) {
    const bool is_held = value.kind == BufferKind::kConstant ||
                         (value.kind == BufferKind::kArgument && !value.donated);
    if (!is_held) continue;
    value.first = 0;
    value.last = now_;
  }
  std::stable_sort(shares_.begin(), shares_.end(),
                   [](const Share& a, const Share& b) { return a.at < b.at; });
  for (LiveValue& value : values_) value.last_read = value.last;
  for (const Share& share : shares_) {
    const ValueId taker = find(share.taker);
    LiveValue& giver = values_[find(share.giver)];
    const bool is_free = share.on_heap && giver.last == share.until && giver.first < share.at;
    LiveValue& taking = values_[taker];
    if (taking.took != kNoValue || !is_free || giver.bytes < taking.bytes) continue;
    taking.took = find(share.giver);
    giver.last = share.at - 1;
  }
}

// An output has a buffer of its own while the program runs. Until it is made, temporary arrays that
// fit lie there, one at a time, the largest first (XLA: BufferAssigner, which tries the buffers
// that exist before it leaves an array to the heap).
void LivenessWalk::reserve_outputs() {
  const auto is_reserved = [](const LiveValue& value) {
    return value.kind == BufferKind::kOutput && !value.in_argument;
  };
  struct Reserved {
    double bytes;
    std::map<Position, ValueId> held;  // by first position: the output and what lies there before
  };
  std::vector<Reserved> outputs;
  std::vector<ValueId> arrays;
  for (ValueId i = 0; i < values_.size(); ++i) {
    const LiveValue& value = values_[i];
    if (same_as_[i] != i || value.bytes <= 0) continue;
    if (is_reserved(value)) outputs.push_back({value.bytes, {{value.first, i}}});
    if (value.kind == BufferKind::kTemporary) arrays.push_back(i);
  }
  std::map<std::pair<ValueId, ValueId>, Position> overwrites;  // giver and taker
  for (const Share& share : shares_)
    overwrites[{find(share.giver), find(share.taker)}] = share.until;
  const auto are_apart = [&](ValueId before, ValueId after) {
    const LiveValue& first = values_[before];
    if (first.last_read < values_[after].first) return true;
    const auto over = overwrites.find({before, after});
    const ValueId took = values_[after].took;
    return over != overwrites.end() && first.last_read <= over->second &&
           (took == kNoValue || took == before);
  };
  const auto lies_in = [&](Reserved& output, ValueId array) {
    const auto after = output.held.lower_bound(values_[array].first);
    if (after == output.held.end() || !are_apart(array, after->second)) return false;
    if (after != output.held.begin() && !are_apart(std::prev(after)->second, array)) return false;
    output.held.emplace_hint(after, values_[array].first, array);
    return true;
  };
  std::ranges::stable_sort(outputs, std::ranges::less{}, &Reserved::bytes);
  const auto bytes = [this](ValueId array) { return values_[array].bytes; };
  std::ranges::stable_sort(arrays, std::ranges::greater{}, bytes);
  for (const ValueId array : arrays) {
    const auto fits = std::ranges::lower_bound(outputs, bytes(array), {}, &Reserved::bytes);
    const bool placed =
        std::any_of(fits, outputs.end(), [&](Reserved& output) { return lies_in(output, array); });
    if (placed) values_[array].bytes = 0;
  }
  for (LiveValue& value : values_) {
    if (is_reserved(value)) value.first = 0;
  }
}

// What they add up to.

// The position with most live bytes; the first among equals.
Position peak_of(const LiveValues& live) {
  std::vector<double> change(live.schedule.size() + 1, 0.0);
  for (const LiveValue& value : live.values) {
    change[value.first] += value.bytes;
    change[value.last + 1] -= value.bytes;
  }
  Position peak = 0;
  double held = 0, most = 0;
  for (std::size_t i = 0; i < live.schedule.size(); ++i) {
    held += change[i];
    if (held <= most) continue;
    most = held;
    peak = static_cast<Position>(i);
  }
  return peak;
}

// What a heap holds: arrays that take over a buffer lie where the first one lay. Arguments and
// outputs that are there all the time, and constants, have places of their own.
std::vector<HeapBlock> heap_blocks(const std::vector<LiveValue>& values) {
  std::vector<HeapBlock> blocks;
  std::unordered_map<ValueId, std::size_t> of;  // by the first array there
  for (ValueId i = 0; i < values.size(); ++i) {
    const LiveValue& value = values[i];
    const bool apart = (value.kind == BufferKind::kArgument && !value.donated) ||
                       (value.kind == BufferKind::kOutput && !value.in_argument);
    if (value.bytes <= 0 || apart || value.kind == BufferKind::kConstant) continue;
    ValueId first = i;
    while (values[first].took != kNoValue) first = values[first].took;
    const auto [at, is_new] = of.try_emplace(first, blocks.size());
    if (is_new) blocks.emplace_back();
    HeapBlock& block = blocks[at->second];
    block.bytes = std::max(block.bytes, value.bytes);
    block.held.push_back({value.first, value.last});
  }
  return blocks;
}

const Shape& leaf_shape(const Shape& shape, std::size_t leaf) {
  const Shape* found = &shape;
  std::size_t position = 0;
  for_each_leaf(shape, [&](const Shape& at) {
    if (position++ == leaf) found = &at;
  });
  return *found;
}

class UseReport {
 public:
  UseReport(const Module& module, const LiveValues& live) : module_(module), live_(live) {}

  [[nodiscard]] MemoryUse report() const {
    MemoryUse use;
    use.aliased = live_.aliased;
    use.unsized = live_.unsized;
    const Position peak = peak_of(live_);
    use.at = instruction_name(peak);
    for (const LiveValue& value : live_.values) {
      if (value.bytes <= 0) continue;
      if (value.kind != BufferKind::kTemporary) use.whole.of(value.kind) += value.bytes;
      if (value.first > peak || value.last < peak) continue;
      use.peak.of(value.kind) += value.bytes;
      use.live.push_back(buffer(value));
    }
    if (module_.is_scheduled) use.peak.gaps = heap_gaps(heap_blocks(live_.values));
    use.whole.temporaries = use.peak.temporaries;
    use.whole.gaps = use.peak.gaps;
    std::ranges::stable_sort(use.live, std::ranges::greater{}, &LiveBuffer::bytes);
    return use;
  }

 private:
  [[nodiscard]] std::string instruction_name(Position position) const {
    const ScheduledAt& at = live_.schedule[position];
    return at.instruction.valid() ? module_.at(at.computation).at(at.instruction).name : "";
  }

  [[nodiscard]] LiveBuffer buffer(const LiveValue& value) const {
    const Computation& computation = module_.at(value.computation);
    const Instruction& op = computation.at(value.instruction);
    return {.name = op.name,
            .computation = computation.name,
            .leaf = value.leaf,
            .shape = leaf_shape(op.shape, value.leaf),
            .kind = value.kind,
            .bytes = value.bytes,
            .made_at = instruction_name(value.first),
            .last_read_at = instruction_name(value.last)};
  }

  const Module& module_;
  const LiveValues& live_;
};

}  // namespace

std::string_view name(BufferKind kind) {
  static constexpr std::string_view kNames[] = {"argument", "output", "temporary", "constant"};
  return kNames[static_cast<std::size_t>(kind)];
}

double& MemorySplit::of(BufferKind kind) {
  static constexpr double MemorySplit::*kParts[] = {&MemorySplit::arguments, &MemorySplit::outputs,
                                                    &MemorySplit::temporaries,
                                                    &MemorySplit::constants};
  return this->*kParts[static_cast<std::size_t>(kind)];
}

MemoryUse memory_use(const Module& module, int space) {
  const LiveValues live = LivenessWalk(module, space).run();
  MemoryUse use = UseReport(module, live).report();
  if (space != kHostMemory && live.on_host) {
    use.host = memory_use(module, kHostMemory).peak.total();
  }
  return use;
}

}  // namespace tilecast::ir

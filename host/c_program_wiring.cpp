#include "host/c_program_wiring.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/math.h"
#include "ir/kernels/kernel_sources.h"
#include "ir/program.h"
#include "ir/schedule_order.h"

namespace tilecast::host {
namespace {

using ir::InstrId;
using ir::Instruction;
using ir::Opcode;
using ir::Shape;

// ArrayRef::index of a constant that has not been read yet: this plus its instruction.
constexpr std::size_t kFirstConstant = std::size_t{1} << 40;

std::int64_t aligned(std::int64_t bytes) {
  return base::round_up<std::int64_t>(bytes, kHeapAlignment);
}

std::size_t leaf_count(const Shape& shape) {
  std::size_t count = 0;
  ir::for_each_leaf(shape, [&](const Shape&) { ++count; });
  return count;
}

class Wiring {
 public:
  explicit Wiring(const ir::Module& module)
      : module_(module),
        entry_(module.entry_computation()),
        counter_(module),
        values_(entry_.instructions.size()) {}

  std::variant<WiredProgram, Unsupported> run() {
    for (const InstrId id : entry_.parameters) add_parameter(id);
    for (const InstrId id : ir::schedule_order(entry_)) {
      std::string problem = visit(id);
      if (!problem.empty()) return Unsupported{entry_.at(id).name + ": " + std::move(problem)};
    }
    add_results();
    return std::move(wired_);
  }

 private:
  using Value = std::vector<ArrayRef>;  // by leaf, depth first

  void add_parameter(InstrId id) {
    Value& value = values_[id.index()];
    ir::for_each_leaf(entry_.at(id).shape, [&](const Shape& leaf) {
      if (leaf.is_array()) {
        wired_.inputs.push_back({leaf, id, value.size()});
        value.push_back({ArrayRef::Kind::kInput, wired_.inputs.size() - 1});
      } else {
        value.push_back({});
      }
    });
  }

  // Returns what cannot be wired; "" on success.
  std::string visit(InstrId id) {
    const Instruction& op = entry_.at(id);
    Value& value = values_[id.index()];
    switch (op.opcode) {
      case Opcode::kParameter:
        return {};
      case Opcode::kConstant:
        value = {{ArrayRef::Kind::kInput, kFirstConstant + id.index()}};
        return {};
      case Opcode::kTuple:
        for (const InstrId operand : op.operands) {
          const Value& part = values_[operand.index()];
          value.insert(value.end(), part.begin(), part.end());
        }
        return {};
      case Opcode::kGetTupleElement:
        value = element(op);
        return {};
      case Opcode::kAfterAll:
        value = {ArrayRef{}};
        return {};
      default:
        break;
    }
    if (ir::passes_bytes_on(op.opcode)) return pass_on(op, value);
    if (ir::is_zero_cost(op.opcode)) return std::string(ir::name(op.opcode)) + " is not computed";
    return launch(id, value);
  }

  // Turns a constant into an input on its first read.
  ArrayRef read(ArrayRef ref) {
    if (ref.kind != ArrayRef::Kind::kInput || ref.index < kFirstConstant) return ref;
    const InstrId id(ref.index - kFirstConstant);
    const auto [known, is_new] = constants_.try_emplace(id, wired_.inputs.size());
    if (is_new) wired_.inputs.push_back({entry_.at(id).shape, id, 0});
    return {ArrayRef::Kind::kInput, known->second};
  }

  Value element(const Instruction& op) const {
    const Shape& tuple = entry_.at(op.operands[0]).shape;
    const Value& whole = values_[op.operands[0].index()];
    const auto number = static_cast<std::size_t>(op.as<ir::IndexAttrs>().index);
    std::size_t first = 0;
    for (std::size_t i = 0; i < number; ++i) first += leaf_count(tuple.elements[i]);
    const std::size_t end = first + leaf_count(op.shape);
    TC_CHECK(end <= whole.size(), "a tuple has the leaves of its shape");
    return {whole.begin() + static_cast<std::ptrdiff_t>(first),
            whole.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  // For ops whose result has the same bytes as the operand.
  std::string pass_on(const Instruction& op, Value& value) const {
    value = values_[op.operands[0].index()];
    const Shape& operand = entry_.at(op.operands[0]).shape;
    if (op.opcode == Opcode::kBitcast && host_bytes(operand) != host_bytes(op.shape)) {
      return "a bitcast between arrays of different size in memory";
    }
    return {};
  }

  std::string launch(InstrId id, Value& value) {
    const Instruction& op = entry_.at(id);
    if (ir::is_control_flow(op.opcode) || ir::op_class(op.opcode) == ir::OpClass::kAsyncDone) {
      return std::string(ir::name(op.opcode)) + " is not launched";
    }
    ir::WiredKernel wired = ir::make_wired_kernel(module_, module_.entry, id, counter_);
    const std::size_t number = wired_.launches.size();
    Launch launch{std::move(wired.kernel), {}, {}};
    for (const ir::ArraySource& source : wired.parameters) {
      const ArrayRef ref = read(values_[source.instruction.index()].at(source.leaf));
      if (ref.kind == ArrayRef::Kind::kArray) wired_.arrays[ref.index].last_read_by = number;
      launch.reads.push_back(ref);
    }
    ir::for_each_leaf(op.shape, [&](const Shape& leaf) {
      if (!leaf.is_array()) {
        value.push_back({});
        return;
      }
      value.push_back({ArrayRef::Kind::kArray, wired_.arrays.size()});
      launch.writes.push_back(wired_.arrays.size());
      wired_.arrays.push_back({host_bytes(leaf), number, number, {}});
    });
    if (launch.writes.size() != launch.kernel.outputs().size()) {
      return "its results are not those of its kernel";
    }
    wired_.launches.push_back(std::move(launch));
    return {};
  }

  void add_results() {
    std::size_t leaf = 0;
    ir::for_each_leaf(entry_.root_instruction().shape, [&](const Shape& shape) {
      const ArrayRef ref = values_[entry_.root.index()].at(leaf++);
      if (!shape.is_array()) return;
      const std::size_t result = wired_.results.size();
      wired_.results.push_back(shape);
      if (ref.kind == ArrayRef::Kind::kArray && !wired_.arrays[ref.index].result) {
        wired_.arrays[ref.index].result = result;
      } else {
        wired_.copies.emplace_back(read(ref), result);
      }
    });
  }

  const ir::Module& module_;
  const ir::Computation& entry_;
  ir::WorkCounter counter_;
  std::vector<Value> values_;                 // by instruction
  std::map<InstrId, std::size_t> constants_;  // constants that are read: instruction -> input
  WiredProgram wired_;
};

// Free list of a growable block: offset -> bytes; free pieces are never adjacent.
class FreeList {
 public:
  std::int64_t take(std::int64_t bytes) {
    for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
      if (piece->second < bytes) continue;
      const auto [offset, size] = *piece;
      free_.erase(piece);
      if (size > bytes) free_[offset + bytes] = size - bytes;
      return offset;
    }
    // Extends a free piece at the end.
    std::int64_t offset = end_;
    if (!free_.empty() && free_.rbegin()->first + free_.rbegin()->second == end_) {
      offset = free_.rbegin()->first;
      free_.erase(offset);
    }
    end_ = offset + bytes;
    return offset;
  }

  void give_back(std::int64_t offset, std::int64_t bytes) {
    if (bytes == 0) return;
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    free_[offset] = bytes;
  }

  [[nodiscard]] std::int64_t end() const { return end_; }

 private:
  std::map<std::int64_t, std::int64_t> free_;
  std::int64_t end_ = 0;
};

}  // namespace

std::variant<WiredProgram, Unsupported> wire_program(const ir::Module& module) {
  return Wiring(module).run();
}

HeapPlan plan_heap(const WiredProgram& program) {
  HeapPlan plan;
  plan.offsets.assign(program.arrays.size(), -1);
  std::vector<std::vector<std::size_t>> last_read(program.launches.size());
  FreeList heap;
  for (std::size_t i = 0; i < program.launches.size(); ++i) {
    for (const std::size_t array : program.launches[i].writes) {
      const ProgramArray& made = program.arrays[array];
      if (made.result) continue;
      plan.offsets[array] = heap.take(aligned(made.bytes));
      last_read[made.last_read_by].push_back(array);
    }
    for (const std::size_t array : last_read[i]) {
      heap.give_back(plan.offsets[array], aligned(program.arrays[array].bytes));
    }
  }
  plan.bytes = heap.end();
  return plan;
}

}  // namespace tilecast::host

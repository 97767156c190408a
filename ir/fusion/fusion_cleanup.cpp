// Cleanup before fusion: removes dead code, annotations and no-op reshapes, and normalises the
// order, because the fusions of an unscheduled module must not depend on the order of its text.
#include <algorithm>

#include "ir/fusion/fusion_rewriter.h"
#include "ir/fusion/fusion_rules.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

constexpr std::int64_t kTileRows = 8;  // rows of the smallest tile, 8 sublanes

// True for ops that must be kept. Loops, branches and calls are always kept.
bool has_effects(const Instruction& op) {
  using enum Opcode;
  switch (op_class(op.opcode)) {
    case OpClass::kCollective:
    case OpClass::kHost:
    case OpClass::kAsyncDone:
    case OpClass::kControl:
      return true;
    case OpClass::kCustomCall: {
      const auto* call = op.get<CustomCallAttrs>();
      return call == nullptr || call->has_side_effect;
    }
    default:
      return is_one_of(
          op.opcode, {kParameter, kRngGetAndUpdateState, kAsyncUpdate, kCopyStart, kAddDependency});
  }
}

bool keeps_tiles_in_order(const Shape& from, const Shape& to) {
  if (from.dynamic_mask != 0 || to.dynamic_mask != 0) return false;
  if (loop_dims(from) == loop_dims(to)) return true;
  if (from.rank() < 2 || to.rank() < 2 || from.dims.back() != to.dims.back()) return false;
  const std::int64_t from_rows = from.dims[from.dims.size() - 2];
  const std::int64_t to_rows = to.dims[to.dims.size() - 2];
  return from_rows == to_rows || (from_rows % kTileRows == 0 && to_rows % kTileRows == 0);
}

class Tidier {
 public:
  explicit Tidier(Computation computation)
      : computation_(std::move(computation)),
        order_(order_by_content(computation_)),
        stands_for_(computation_.instructions.size()) {
    for (std::size_t i = 0; i < stands_for_.size(); ++i) stands_for_[i] = InstrId(i);
  }

  Computation run() {
    for (const InstrId id : order_) {
      if (does_nothing(computation_.at(id))) {
        stands_for_[id.index()] = resolved(computation_.at(id).operands[0]);
      }
    }
    const std::vector<bool> live = find_live();
    Computation result;
    result.name = computation_.name;
    result.execution_thread = computation_.execution_thread;
    new_id_.resize(computation_.instructions.size());
    result.instructions.reserve(
        static_cast<std::size_t>(std::count(live.begin(), live.end(), true)));
    for (const InstrId id : order_) {
      if (live[id.index()]) move(id, result);
    }
    for (const InstrId id : computation_.parameters) {
      result.parameters.push_back(new_id_[id.index()]);
    }
    result.root = new_id_[resolved(computation_.root).index()];
    return result;
  }

 private:
  InstrId resolved(InstrId id) const { return stands_for_[id.index()]; }

  bool does_nothing(const Instruction& op) const {
    if (op.operands.size() != 1 || !op.control_predecessors->empty()) return false;
    const bool candidate = is_annotation(op) || op.opcode == Opcode::kReshape;
    const Shape& operand = computation_.at(op.operands[0]).shape;
    return candidate && op.shape.is_array() && op.shape == operand;
  }

  std::vector<bool> find_live() const {
    std::vector<bool> live(computation_.instructions.size(), false);
    live[resolved(computation_.root).index()] = true;
    for (std::size_t i = 0; i < live.size(); ++i) {
      const Instruction& op = computation_.instructions[i];
      if (resolved(InstrId(i)) != InstrId(i)) continue;
      if (has_effects(op)) live[i] = true;
      for (const InstrId before : *op.control_predecessors) live[resolved(before).index()] = true;
    }
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      if (!live[it->index()]) continue;
      for (const InstrId operand : computation_.at(*it).operands) {
        live[resolved(operand).index()] = true;
      }
    }
    return live;
  }

  void move(InstrId id, Computation& result) {
    new_id_[id.index()] = InstrId(result.instructions.size());
    Instruction& op =
        result.instructions.emplace_back(std::move(computation_.instructions[id.index()]));
    for (InstrId& operand : op.operands) operand = new_id_[resolved(operand).index()];
    if (!op.control_predecessors->empty()) {
      for (InstrId& before : op.control_predecessors.edit()) {
        before = new_id_[resolved(before).index()];
      }
    }
    if (op.opcode == Opcode::kReshape && op.operands.size() == 1 &&
        keeps_tiles_in_order(result.at(op.operands[0]).shape, op.shape)) {
      op.opcode = Opcode::kBitcast;
      op.attrs = {};
      op.dimensions.clear();
    }
  }

  Computation computation_;  // instructions are moved out in order
  std::vector<InstrId> order_;
  std::vector<InstrId> stands_for_, new_id_;
};

}  // namespace

Computation tidied(Computation computation) {
  return Tidier(std::move(computation)).run();
}

Module tidied(Module module) {
  const std::vector<bool> sequential = sequential_computations(module);
  for (std::size_t i = 0; i < sequential.size(); ++i) {
    if (sequential[i]) module.computations[i] = tidied(std::move(module.computations[i]));
  }
  return module;
}

}  // namespace tilecast::ir

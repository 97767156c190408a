#include "ir/fusion/fusion_rewriter.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "ir/backend_config.h"
#include "ir/fusion/fusion_rules.h"
#include "ir/graph_order.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

constexpr std::uint32_t kNoUnit = UINT32_MAX;

class Rewriter {
 public:
  Rewriter(Computation computation, const std::vector<FusedKernel>& kernels, std::size_t first_id,
           FreshNames& names)
      : old_(std::move(computation)), first_id_(first_id), names_(names) {
    split_into_units(kernels);
  }

  RewrittenComputation run() {
    new_id_.resize(old_.instructions.size());
    result_.caller.name = old_.name;
    result_.caller.execution_thread = old_.execution_thread;
    result_.caller.instructions.reserve(units_.size() + units_.size() / 4);
    for (const std::uint32_t unit : unit_order()) emit(unit);
    for (const InstrId id : old_.parameters) {
      result_.caller.parameters.push_back(new_id_[id.index()]);
    }
    result_.caller.root = new_id_[old_.root.index()];
    return std::move(result_);
  }

 private:
  // A scheduled instruction of the result: a kernel, or an instruction outside all kernels.
  struct Unit {
    std::vector<InstrId> members, roots;  // in order
    std::optional<GpuCode> code;
  };

  void split_into_units(const std::vector<FusedKernel>& kernels);
  [[nodiscard]] std::vector<std::uint32_t> unit_order() const;
  void emit(std::uint32_t unit);
  void emit_single(InstrId id);
  void emit_fusion(Unit& unit);
  [[nodiscard]] std::size_t instructions_inside(const Unit& unit);
  [[nodiscard]] Instruction fusion_of(const Unit& unit, std::vector<InstrId>& inputs);
  void set_root(const Unit& unit, Computation& fused, Instruction& fusion);
  Instruction& append(InstrId id, std::vector<Instruction>& to);
  [[nodiscard]] InstrId parameter(Computation& fused, std::vector<InstrId>& inputs, InstrId source);
  [[nodiscard]] bool is_scalar_constant(InstrId id) const { return scalar_constants_[id.index()]; }

  Computation old_;                    // instructions are moved out of it as they are emitted
  std::vector<std::uint32_t> copies_;  // by instruction: kernels that still need it
  std::size_t first_id_;
  FreshNames& names_;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> producer_;  // by instruction: the unit that makes it available
  std::vector<InstrId> new_id_;
  RewrittenComputation result_;
  std::vector<InstrId> local_;             // by instruction: its copy inside the fusion being built
  std::vector<std::uint32_t> local_of_;    // ... valid when this is that fusion's number
  std::vector<std::uint32_t> counted_in_;  // by instruction: the fusion that was counted last
  std::uint32_t fusions_ = 0;
  std::vector<bool> scalar_constants_;
  std::vector<bool> stays_;  // by instruction: scalar constants used outside fusions
};

void Rewriter::split_into_units(const std::vector<FusedKernel>& kernels) {
  const std::size_t count = old_.instructions.size();
  producer_.assign(count, kNoUnit);
  local_.resize(count);
  local_of_.assign(count, kNoUnit);
  counted_in_.assign(count, kNoUnit);
  copies_.assign(count, 0);
  for (const Instruction& op : old_.instructions) {
    scalar_constants_.push_back(ir::is_scalar_constant(op));
  }
  for (const FusedKernel& kernel : kernels) {
    Unit unit{kernel.members, kernel.roots, kernel.code};
    std::sort(unit.members.begin(), unit.members.end());
    std::sort(unit.roots.begin(), unit.roots.end());
    for (const InstrId id : unit.members) ++copies_[id.index()];
    for (const InstrId id : unit.roots) {
      producer_[id.index()] = static_cast<std::uint32_t>(units_.size());
    }
    units_.push_back(std::move(unit));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (copies_[i] > 0) continue;
    copies_[i] = 1;
    producer_[i] = static_cast<std::uint32_t>(units_.size());
    units_.push_back({{InstrId(i)}, {InstrId(i)}, {}});
  }
  stays_.assign(count, false);
  stays_[old_.root.index()] = true;
  for (const Unit& unit : units_) {
    if (unit.members.size() > 1) continue;
    const Instruction& op = old_.at(unit.members[0]);
    for (const InstrId operand : op.operands) stays_[operand.index()] = true;
    for (const InstrId before : *op.control_predecessors) stays_[before.index()] = true;
  }
}

// By instruction: its position in the source text, which may differ from the order here.
std::vector<std::uint32_t> places_in_text(const Computation& computation) {
  std::vector<std::uint32_t> order(computation.instructions.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {},
                           [&](std::uint32_t id) { return computation.instructions[id].offset; });
  std::vector<std::uint32_t> places(order.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) places[order[place]] = place;
  return places;
}

// Topological order of units; among ready units, the one whose last root is first in the source
// text.
std::vector<std::uint32_t> Rewriter::unit_order() const {
  const std::vector<std::uint32_t> places = places_in_text(old_);
  std::vector<GraphEdge> edges;
  std::vector<std::uint32_t> keys;
  const auto depend = [&](std::uint32_t unit, InstrId on) {
    const std::uint32_t producer = producer_[on.index()];
    if (producer != unit && producer != kNoUnit) edges.emplace_back(producer, unit);
  };
  for (std::uint32_t unit = 0; unit < units_.size(); ++unit) {
    const auto& members = units_[unit].members;
    std::uint32_t last = 0;
    for (const InstrId root : units_[unit].roots) last = std::max(last, places[root.index()]);
    keys.push_back(last);
    for (const InstrId member : members) {
      for (const InstrId operand : old_.at(member).operands) {
        if (!std::binary_search(members.begin(), members.end(), operand)) depend(unit, operand);
      }
      for (const InstrId before : *old_.at(member).control_predecessors) depend(unit, before);
    }
  }
  std::vector<std::uint32_t> order = order_by_key(keys, edges);
  TC_CHECK(order.size() == units_.size(), "fusing closed a cycle");
  return order;
}

void Rewriter::emit(std::uint32_t unit) {
  Unit& group = units_[unit];
  if (is_scalar_constant(group.roots[0]) && !stays_[group.roots[0].index()]) return;
  if (group.members.size() == 1) {
    emit_single(group.members[0]);
  } else {
    emit_fusion(group);
  }
}

// Appends an instruction, moving it from the old computation at its last use.
Instruction& Rewriter::append(InstrId id, std::vector<Instruction>& to) {
  Instruction& op = old_.instructions[id.index()];
  // Scalar constants are cloned into fusions but are not members.
  const bool is_last = --copies_[id.index()] == 0 && !is_scalar_constant(id);
  return is_last ? to.emplace_back(std::move(op)) : to.emplace_back(op);
}

void Rewriter::emit_single(InstrId id) {
  const InstrId new_id(result_.caller.instructions.size());
  Instruction& op = append(id, result_.caller.instructions);
  change_sources(op, [&](InstrId& source) { source = new_id_[source.index()]; });
  new_id_[id.index()] = new_id;
}

InstrId Rewriter::parameter(Computation& fused, std::vector<InstrId>& inputs, InstrId source) {
  fused.parameters.emplace_back(fused.instructions.size());
  fused.instructions.push_back(parameter_instruction(
      "param_" + std::to_string(inputs.size()) + "." + std::to_string(fusions_),
      result_.caller.at(new_id_[source.index()]).shape, inputs.size()));
  inputs.push_back(source);
  return fused.parameters.back();
}

// Counts members, values read from outside, and the tuple if there are several roots.
std::size_t Rewriter::instructions_inside(const Unit& unit) {
  std::size_t count = unit.members.size() + (unit.roots.size() > 1 ? 1 : 0);
  for (const InstrId member : unit.members) counted_in_[member.index()] = fusions_;
  for (const InstrId member : unit.members) {
    for (const InstrId operand : old_.at(member).operands) {
      count += counted_in_[operand.index()] == fusions_ ? 0 : 1;
      counted_in_[operand.index()] = fusions_;
    }
  }
  return count;
}

// Builds the fused computation and its calling instruction; the caller sets the operands.
Instruction Rewriter::fusion_of(const Unit& unit, std::vector<InstrId>& inputs) {
  Computation fused;
  const auto local = [&](InstrId operand) {
    if (local_of_[operand.index()] == fusions_) return local_[operand.index()];
    InstrId id;
    if (is_scalar_constant(operand)) {
      id = InstrId(fused.instructions.size());
      fused.instructions.push_back(old_.at(operand));
    } else {
      id = parameter(fused, inputs, operand);
    }
    local_[operand.index()] = id;
    local_of_[operand.index()] = fusions_;
    return id;
  };
  Instruction fusion;
  fusion.opcode = Opcode::kFusion;
  FusionKind kind = FusionKind::kLoop;
  InstrId hero;
  fused.instructions.reserve(instructions_inside(unit));
  for (const InstrId member : unit.members) {
    for (const InstrId operand : old_.at(member).operands) local(operand);  // emitted before it
    const InstrId id(fused.instructions.size());
    Instruction& op = append(member, fused.instructions);
    for (InstrId& operand : op.operands) operand = local(operand);
    if (is_matrix(op)) kind = FusionKind::kOutput;
    if (is_matrix(op) || (is_reduction(op) && kind == FusionKind::kLoop)) hero = id;
    local_[member.index()] = id;
    local_of_[member.index()] = fusions_;
  }
  set_root(unit, fused, fusion);
  const Instruction& last = fused.at(local_[unit.roots.back().index()]);
  const Instruction& main = hero.valid() ? fused.at(hero) : last;
  std::string stem(name(main.opcode));
  if (&main != &last) stem += "_" + std::string(name(last.opcode));
  fusion.name = names_.next(stem + "_fusion");
  fusion.metadata = main.metadata;
  fusion.attrs = FusionAttrs{kind};
  if (unit.code) state_code(*unit.code, fusion);
  fusion.called = {ComputationId(first_id_ + result_.fused.size())};
  fused.name = "fused_computation." + fusion.name;
  result_.fused.push_back(std::move(fused));
  return fusion;
}

// Sets the root; several roots become a tuple.
void Rewriter::set_root(const Unit& unit, Computation& fused, Instruction& fusion) {
  fused.root = local_[unit.roots[0].index()];
  fusion.shape = fused.at(fused.root).shape;
  if (unit.roots.size() == 1) return;
  std::vector<InstrId> roots;
  for (const InstrId root : unit.roots) roots.push_back(local_[root.index()]);
  Instruction tuple =
      tuple_instruction("tuple." + std::to_string(fusions_) + ".fused", std::move(roots), fused);
  fusion.shape = tuple.shape;
  fused.root = InstrId(fused.instructions.size());
  fused.instructions.push_back(std::move(tuple));
}

void Rewriter::emit_fusion(Unit& unit) {
  std::vector<InstrId> inputs;
  Instruction fusion = fusion_of(unit, inputs);
  for (const InstrId input : inputs) fusion.operands.push_back(new_id_[input.index()]);
  ++fusions_;
  std::vector<Instruction>& out = result_.caller.instructions;
  const InstrId id(out.size());
  if (unit.roots.size() == 1) {
    out.push_back(std::move(fusion));
    new_id_[unit.roots[0].index()] = id;
    return;
  }
  const std::string fusion_name = fusion.name;
  const Shape shapes = fusion.shape;
  out.push_back(std::move(fusion));
  for (std::size_t i = 0; i < unit.roots.size(); ++i) {
    Instruction pick;
    pick.name = fusion_name + ".result" + std::to_string(i);
    pick.opcode = Opcode::kGetTupleElement;
    pick.shape = shapes.elements[i];
    pick.operands = {id};
    pick.attrs = IndexAttrs{static_cast<std::int64_t>(i)};
    new_id_[unit.roots[i].index()] = InstrId(out.size());
    out.push_back(std::move(pick));
  }
}

}  // namespace

FreshNames::FreshNames(const Module& module) {
  const auto look_at = [&](const std::string& name) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) return;
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(name.data() + dot + 1, name.data() + name.size(), value);
    if (error == std::errc() && value < INT64_MAX / 2) highest_ = std::max(highest_, value);
  };
  for (const Computation& computation : module.computations) {
    look_at(computation.name);
    for (const Instruction& op : computation.instructions) look_at(op.name);
  }
}

std::string FreshNames::next(const std::string& stem) {
  return stem + "." + std::to_string(++highest_);
}

RewrittenComputation with_fusions(Computation computation, const std::vector<FusedKernel>& kernels,
                                  std::size_t first_id, FreshNames& names) {
  return Rewriter(std::move(computation), kernels, first_id, names).run();
}

Module with_plans(Module module, FreshNames names, const FusionPlan& plan) {
  const std::vector<bool> sequential = sequential_computations(module);
  std::vector<Computation> old = std::exchange(module.computations, {});
  module.is_scheduled = false;
  std::vector<ComputationId> moved(old.size());
  const auto add = [&](Computation computation, std::size_t first_fused) {
    for (Instruction& op : computation.instructions) {
      for (ComputationId& called : op.called) {
        const bool is_new = called.index() >= moved.size();
        called = is_new ? ComputationId(first_fused + called.index() - moved.size())
                        : moved[called.index()];
      }
    }
    module.computations.push_back(std::move(computation));
  };
  for (std::size_t i = 0; i < old.size(); ++i) {
    const std::size_t first_fused = module.computations.size();
    if (!sequential[i]) {
      add(std::move(old[i]), first_fused);
    } else {
      const std::vector<FusedKernel> kernels = plan(old[i], i);
      RewrittenComputation rewritten =
          with_fusions(std::move(old[i]), kernels, moved.size(), names);
      for (Computation& fused : rewritten.fused) add(std::move(fused), first_fused);
      add(std::move(rewritten.caller), first_fused);
    }
    moved[i] = ComputationId(module.computations.size() - 1);
  }
  module.entry = moved[module.entry.index()];
  return module;
}

// Cleanup before fusion: removes dead code, annotations and no-op reshapes, and normalises the
// order, because the fusions of an unscheduled module must not depend on the order of its text.

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
    change_sources(op, [&](InstrId& source) { source = new_id_[resolved(source).index()]; });
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

#include "ir/fusion/fusion.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/fusion/fusion_planner.h"
#include "ir/fusion/fusion_rewriter.h"
#include "ir/layout_assignment.h"
#include "ir/ops/index_map.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {

bool is_optimised(const Module& module) {
  const auto is_fusion = [](const Instruction& op) { return op.opcode == Opcode::kFusion; };
  const bool fused = std::any_of(module.computations.begin(), module.computations.end(),
                                 [&](const Computation& computation) {
                                   return std::any_of(computation.instructions.begin(),
                                                      computation.instructions.end(), is_fusion);
                                 });
  return fused || module.is_scheduled || has_device_layouts(module);
}

Module prepared_for_fusion(Module module, const FusionOptions& options) {
  module = with_calls_inlined(std::move(module));
  if (options.compiler == Compiler::kXlaGpu) module = with_library_operands(std::move(module));
  if (options.windows) module = with_block_scans(std::move(module));
  return with_copies(std::move(module));
}

Module fuse(Module module, const FusionOptions& options) {
  module = prepared_for_fusion(std::move(module), options);
  FreshNames names(module);
  return with_plans(tidied(std::move(module)), names,
                    [&](const Computation& computation, std::size_t) {
                      return FusionPlanner(computation, FusionGraph(computation), options).plan();
                    });
}

// Inserts the copies that a program needs before in-place updates.

namespace {

class Copies {
 public:
  // `kept`: numbers of the parameters that must not be overwritten.
  Copies(Computation& computation, std::set<std::int64_t> kept)
      : computation_(computation), users_(user_lists(computation)), kept_(std::move(kept)) {}

  // Inserts each copy before its update.
  void insert(FreshNames& names) {
    std::vector<Instruction>& old = computation_.instructions;
    std::vector<std::vector<std::size_t>> copied(old.size());  // operands, by update
    std::vector<InstrId> moved(old.size());
    std::size_t place = 0;
    for (std::size_t i = 0; i < old.size(); ++i) {
      copied[i] = targets_to_copy(InstrId(i));
      place += copied[i].size();
      moved[i] = InstrId(place++);
    }
    if (place == old.size()) return;
    shapes_.reserve(old.size());
    for (const Instruction& op : old) shapes_.push_back(op.shape);
    const auto move = [&](InstrId& id) { id = moved[id.index()]; };
    std::vector<Instruction> made;
    made.reserve(place);
    for (std::size_t i = 0; i < old.size(); ++i) {
      Instruction& op = old[i];
      for (const std::size_t t : copied[i]) made.push_back(copy_of(op.operands[t], moved, names));
      change_sources(op, move);
      const std::size_t first = made.size() - copied[i].size();
      for (std::size_t c = 0; c < copied[i].size(); ++c) {
        op.operands[copied[i][c]] = InstrId(first + c);
      }
      made.push_back(std::move(op));
    }
    std::ranges::for_each(computation_.parameters, move);
    move(computation_.root);
    old = std::move(made);
  }

 private:
  [[nodiscard]] std::vector<std::size_t> targets_to_copy(InstrId id) const {
    std::vector<std::size_t> targets;
    const Instruction& update = computation_.at(id);
    const std::size_t count = update.operands.size();
    for (std::size_t t = 0; t < count; ++t) {
      const bool target = operand_use(update.opcode, count, t) == OperandUse::kTarget;
      if (target && must_stay(update.operands[t], id)) targets.push_back(t);
    }
    return targets;
  }

  [[nodiscard]] bool must_stay(InstrId target, InstrId update) const {
    const Instruction& op = computation_.at(target);
    if (!op.shape.is_array()) return false;
    if (op.opcode == Opcode::kConstant) return true;
    const auto* parameter = op.get<ParameterAttrs>();
    if (parameter != nullptr && kept_.contains(parameter->number)) return true;
    return target == computation_.root || read_after(target, update);
  }

  // True if the target is part of the result, or is read by an op that depends on the updated
  // array.
  [[nodiscard]] bool read_after(InstrId target, InstrId update) const {
    const std::vector<InstrId>& readers = users_[target.index()];
    if (readers.size() < 2) return false;
    const std::vector<bool> after = dependents(users_, update);
    return std::ranges::any_of(
        readers, [&](InstrId reader) { return reader != update && after[reader.index()]; });
  }

  Instruction copy_of(InstrId target, const std::vector<InstrId>& moved, FreshNames& names) {
    Instruction copy;
    copy.name = names.next("copy");
    copy.opcode = Opcode::kCopy;
    copy.shape = shapes_[target.index()];
    copy.operands = {moved[target.index()]};
    return copy;
  }

  Computation& computation_;
  std::vector<Shape> shapes_;  // by instruction
  UserLists users_;
  std::set<std::int64_t> kept_;
};

}  // namespace

Module with_copies(Module module) {
  FreshNames names(module);
  std::set<std::int64_t> kept;
  const Computation& entry = module.entry_computation();
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    kept.insert(static_cast<std::int64_t>(i));
  }
  for (const Alias& alias : module.input_output_alias) kept.erase(alias.operand);
  const std::vector<bool> sequential = sequential_computations(module);
  for (std::size_t i = 0; i < sequential.size(); ++i) {
    if (!sequential[i]) continue;
    const bool is_entry = ComputationId(i) == module.entry;
    Copies(module.computations[i], is_entry ? kept : std::set<std::int64_t>{}).insert(names);
  }
  return module;
}

}  // namespace tilecast::ir

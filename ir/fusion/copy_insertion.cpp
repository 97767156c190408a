// Copies that a program needs before its updates in place.
#include <algorithm>
#include <set>

#include "ir/fusion/fusion.h"
#include "ir/fusion/fusion_rewriter.h"
#include "ir/fusion/fusion_rules.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

class Copies {
 public:
  // `kept`: numbers of parameters that belong to the caller.
  Copies(Computation& computation, std::set<std::int64_t> kept)
      : computation_(computation), users_(user_lists(computation)), kept_(std::move(kept)) {}

  void insert(FreshNames& names) {
    const std::size_t count = computation_.instructions.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (!updates_in_place(computation_.instructions[i])) continue;
      const std::size_t targets = target_count(computation_.instructions[i]);
      for (std::size_t t = 0; t < targets; ++t) {
        if (!must_stay(computation_.instructions[i].operands[t], InstrId(i))) continue;
        const InstrId copy = add_copy(computation_.instructions[i].operands[t], names);
        computation_.instructions[i].operands[t] = copy;
      }
    }
  }

 private:
  static std::size_t target_count(const Instruction& update) {
    return update.opcode == Opcode::kScatter ? update.operands.size() / 2 : 1;
  }

  [[nodiscard]] bool must_stay(InstrId target, InstrId update) const {
    const Instruction& op = computation_.at(target);
    if (!op.shape.is_array()) return false;
    if (op.opcode == Opcode::kConstant) return true;
    const auto* parameter = op.get<ParameterAttrs>();
    if (parameter != nullptr && kept_.contains(parameter->number)) return true;
    return target == computation_.root || read_after(target, update);
  }

  // Does the result hold the target, or something read it that needs the updated array first?
  [[nodiscard]] bool read_after(InstrId target, InstrId update) const {
    const std::vector<InstrId>& readers = users_[target.index()];
    if (readers.size() < 2) return false;
    std::vector<bool> after(computation_.instructions.size(), false);
    std::vector<InstrId> open = {update};
    while (!open.empty()) {
      const InstrId id = open.back();
      open.pop_back();
      for (const InstrId user : users_[id.index()]) {
        if (user.index() >= after.size() || after[user.index()]) continue;
        after[user.index()] = true;
        open.push_back(user);
      }
    }
    return std::ranges::any_of(
        readers, [&](InstrId reader) { return reader != update && after[reader.index()]; });
  }

  InstrId add_copy(InstrId of, FreshNames& names) {
    Instruction copy;
    copy.name = names.next("copy");
    copy.opcode = Opcode::kCopy;
    copy.shape = computation_.at(of).shape;
    copy.operands = {of};
    computation_.instructions.push_back(std::move(copy));
    return InstrId(computation_.instructions.size() - 1);
  }

  Computation& computation_;
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

// Calls of functions become part of their callers before fusion, as XLA's CallInliner does.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ir/fusion/fusion.h"
#include "ir/fusion/fusion_rewriter.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

// Functions that call one another twice double with every level. Calls stay where the caller would
// become longer than this.
constexpr std::size_t kMaxInstructions = std::size_t{1} << 20;

class CallInliner {
 public:
  // Calls in computations before `caller` must be inlined already.
  CallInliner(const Module& module, Computation caller, FreshNames& names)
      : module_(module), caller_(std::move(caller)), names_(names) {}

  Computation run() {
    const std::size_t before = caller_.instructions.size();
    rebuild(caller_, [&](Instruction&& op) {
      return is_inlined(op, before) ? body_of(op) : placed(std::move(op));
    });
    return std::move(caller_);
  }

 private:
  [[nodiscard]] bool is_inlined(const Instruction& op, std::size_t before) const {
    if (op.opcode != Opcode::kCall || !op.control_predecessors->empty()) return false;
    const Computation& body = module_.at(op.called.front());
    if (thread_name(body.execution_thread) != thread_name(caller_.execution_thread)) return false;
    const std::size_t at_most = caller_.instructions.size() + body.instructions.size() + before;
    if (at_most > kMaxInstructions) return false;
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const Shape& given = caller_.at(op.operands[i]).shape;
      if (body.at(body.parameters[i]).shape != given) return false;
    }
    return true;
  }

  // The instruction in its new place; an element of a tuple of the caller is what the tuple holds.
  InstrId placed(Instruction&& op) {
    if (op.opcode == Opcode::kGetTupleElement && op.control_predecessors->empty()) {
      const Instruction& tuple = caller_.at(op.operands.front());
      if (tuple.opcode == Opcode::kTuple) {
        return tuple.operands[static_cast<std::size_t>(op.as<IndexAttrs>().index)];
      }
    }
    caller_.instructions.push_back(std::move(op));
    return InstrId(caller_.instructions.size() - 1);
  }

  // The result of the called function, whose instructions stand where the call stood.
  InstrId body_of(const Instruction& call) {
    const Computation& body = module_.at(call.called.front());
    std::vector<InstrId> moved(body.instructions.size());
    for (std::size_t i = 0; i < body.parameters.size(); ++i) {
      moved[body.parameters[i].index()] = call.operands[i];
    }
    for (const InstrId id : schedule_order(body)) {
      Instruction op = body.at(id);
      if (op.opcode == Opcode::kParameter) continue;
      change_sources(op, [&](InstrId& source) { source = moved[source.index()]; });
      op.name = names_.next(op.name.substr(0, op.name.rfind('.')));
      op.offset = call.offset;
      moved[id.index()] = placed(std::move(op));
    }
    return moved[body.root.index()];
  }

  const Module& module_;
  Computation caller_;
  FreshNames& names_;
};

// Whether inlining leaves the computation as it is.
bool stays(const Computation& computation) {
  return in_order(computation) &&
         std::ranges::none_of(computation.instructions, [&](const Instruction& op) {
           return op.opcode == Opcode::kCall ||
                  (op.opcode == Opcode::kGetTupleElement &&
                   computation.at(op.operands.front()).opcode == Opcode::kTuple);
         });
}

// The module without computations that nothing calls.
Module without_unused_computations(Module module) {
  std::vector<bool> used(module.computations.size(), false);
  used[module.entry.index()] = true;
  for (std::size_t i = used.size(); i-- > 0;) {
    if (!used[i]) continue;
    for (const Instruction& op : module.computations[i].instructions) {
      for (const ComputationId called : op.called) used[called.index()] = true;
    }
  }
  std::vector<ComputationId> moved(used.size());
  std::vector<Computation> kept;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    for (Instruction& op : module.computations[i].instructions) {
      for (ComputationId& called : op.called) called = moved[called.index()];
    }
    moved[i] = ComputationId(kept.size());
    kept.push_back(std::move(module.computations[i]));
  }
  module.computations = std::move(kept);
  module.entry = moved[module.entry.index()];
  return module;
}

}  // namespace

Module with_calls_inlined(Module module) {
  FreshNames names(module);
  const std::vector<bool> sequential = sequential_computations(module);
  for (std::size_t i = 0; i < sequential.size(); ++i) {
    if (!sequential[i] || stays(module.computations[i])) continue;
    Computation caller = std::move(module.computations[i]);
    module.computations[i] = CallInliner(module, std::move(caller), names).run();
  }
  return without_unused_computations(std::move(module));
}

}  // namespace tilecast::ir

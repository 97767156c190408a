// Asynchronous operations: checks of async-start, -update and -done, and the short syntax
// `custom-call-start(...)`, for which a wrapped computation is created.
#include <fmt/format.h>

#include "ir/text/module_parser.h"

namespace tilecast::ir {
namespace {

// ((operands), result, ...)
bool is_async_shape(const Shape& shape) {
  return shape.is_tuple() && shape.elements.size() >= 2 && shape.elements[0].is_tuple();
}

}  // namespace

void ModuleParser::check_async_shape(const Scope& scope, const Instruction& instruction,
                                     std::size_t opcode_at) const {
  if (!is_async_chain(instruction.opcode)) return;
  constexpr std::string_view kForm = "in the form of ((async-operands), async-outputs, state).";
  if (instruction.opcode != Opcode::kAsyncStart) {
    // In newer XLA, an update has the values it waits for as further operands.
    const bool one = instruction.opcode == Opcode::kAsyncDone;
    cursor_.fail_at_if(instruction.operands.empty() || (one && instruction.operands.size() != 1) ||
                           !is_async_shape(scope.computation.at(instruction.operands[0]).shape),
                       opcode_at, "AsyncUpdate and AsyncDone expect a single operand {}", kForm);
    const Opcode previous = scope.computation.at(instruction.operands[0]).opcode;
    cursor_.fail_at_if(previous != Opcode::kAsyncStart && previous != Opcode::kAsyncUpdate,
                       opcode_at,
                       "AsyncUpdate and AsyncDone expect a single async op as their operand.");
  }
  cursor_.fail_at_if(instruction.opcode != Opcode::kAsyncDone && !is_async_shape(instruction.shape),
                     opcode_at, "Async{} expects the op shape to be {}",
                     instruction.opcode == Opcode::kAsyncStart ? "Start" : "Update", kForm);
}

InstrId ModuleParser::async_start_of(const Scope& scope, const Instruction& instruction) const {
  const InstrId previous = instruction.operands[0];
  const auto found = scope.async_starts.find(previous);
  return found == scope.async_starts.end() ? previous : found->second;
}

Instruction ModuleParser::wrapped_instruction(const Scope&, const Instruction& start,
                                              Opcode opcode) const {
  Instruction inner;
  inner.opcode = opcode;
  inner.attrs = attributes_of(opcode);
  inner.name = "async_op";
  inner.shape = start.shape.elements[1];
  inner.operands = start.operands;
  inner.offset = start.offset;
  return inner;
}

void ModuleParser::add_wrapped_computation(Instruction& start, Instruction&& inner,
                                           const Scope& scope, std::size_t opcode_at) {
  Computation wrapped;
  wrapped.name = unique_computation_name("async_wrapped");
  wrapped.execution_thread = start.as<AsyncAttrs>().execution_thread;
  for (std::size_t i = 0; i < start.operands.size(); ++i) {
    Instruction& parameter = wrapped.instructions.emplace_back(
        parameter_instruction(i == 0 ? "async_param" : fmt::format("async_param.{}", i),
                              scope.computation.at(start.operands[i]).shape, i));
    parameter.offset = start.offset;
    inner.operands[i] = InstrId(i);
    wrapped.parameters.push_back(InstrId(i));
  }
  wrapped.root = InstrId(wrapped.instructions.size());
  wrapped.instructions.push_back(std::move(inner));
  start.called = {add_computation(std::move(wrapped), opcode_at)};
}

void ModuleParser::finish_async(Scope& scope, Instruction& instruction, const OpcodeText& opcode,
                                std::size_t opcode_at) {
  if (!is_async_chain(instruction.opcode)) return;
  if (instruction.opcode == Opcode::kAsyncStart) {
    const ComputationId callee = instruction.called.at(0);
    async_callee_.resize(module_.computations.size(), false);
    cursor_.fail_at_if(async_callee_[callee.index()], opcode_at,
                       "Computation {} is already referenced by another "
                       "async op",
                       module_.at(callee).name);
    async_callee_[callee.index()] = true;
    return;
  }
  const InstrId start_id = async_start_of(scope, instruction);
  const Instruction& start = scope.computation.at(start_id);
  scope.async_starts.emplace(InstrId(scope.computation.instructions.size()), start_id);
  const Computation& callee = module_.at(start.called[0]);
  if (opcode.wrapped && callee.root_instruction().opcode != *opcode.wrapped) {
    cursor_.fail_at(opcode_at, "Expect async wrapped opcode to be {}, but got {}",
                    name(callee.root_instruction().opcode), name(*opcode.wrapped));
  }
  const std::string& thread = instruction.as<AsyncAttrs>().execution_thread;
  const std::string& start_thread = start.as<AsyncAttrs>().execution_thread;
  cursor_.fail_at_if(!thread.empty() && thread_name(thread) != thread_name(start_thread), opcode_at,
                     "Expect async_execution_thread to be {}, but got {}",
                     thread_name(start_thread), thread);
  if (!instruction.called.empty() && instruction.called[0] != start.called[0]) {
    cursor_.fail_at(opcode_at, "Expect async_wrapped_computation to be {}, but got {}", callee.name,
                    module_.at(instruction.called[0]).name);
  }
  instruction.called.clear();  // inherited from the start
  instruction.attrs.edit<AsyncAttrs>().execution_thread.clear();
}

// SparseCores of TPUs are started before their operands are available; an update supplies them. The
// update then becomes the start, and the original start an empty tuple.
void start_where_operands_are(Module& module) {
  for (Computation& computation : module.computations) {
    for (Instruction& update : computation.instructions) {
      if (update.opcode != Opcode::kAsyncUpdate || update.operands.size() < 2) continue;
      Instruction& start = computation.instructions[update.operands[0].index()];
      if (start.opcode != Opcode::kAsyncStart || !start.operands.empty()) continue;
      update.opcode = Opcode::kAsyncStart;
      update.operands.erase(update.operands.begin());
      update.aliasing.reset();  // aliases the context, which is not used
      update.called = std::move(start.called);
      update.attrs = std::move(start.attrs);
      update.backend_config = std::move(start.backend_config);
      start.opcode = Opcode::kTuple;
      start.shape = Shape::tuple({});
      start.called.clear();
      start.attrs = {};
      start.backend_config = {};
    }
  }
}

}  // namespace tilecast::ir

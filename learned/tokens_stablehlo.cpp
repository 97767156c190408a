#include <fmt/format.h>

#include "ir/kernels/kernel_module.h"
#include "ir/stablehlo/stablehlo.h"
#include "learned/tokens.h"

namespace tilecast::learned {
namespace {

using ir::Computation;
using ir::InstrId;
using ir::Instruction;

class StablehloTokens {
 public:
  StablehloTokens(const ir::Module& module, const TextSpec& spec, const TokenSink& sink)
      : module_(module), write_(spec, sink) {}

  void function(const Computation& computation) {
    std::vector<int> numbers(computation.instructions.size(), -1);
    arguments(computation, numbers);
    write_.word("->");
    types(computation.root_instruction().shape);
    body(computation, numbers);
  }

 private:
  void value(int number) const {
    if (write_.operands()) write_.word(fmt::format("%{}", number));
  }
  void types(const ir::Shape& shape) const {
    ir::for_each_leaf(shape, [&](const ir::Shape& leaf) { write_.shape(ir::printed_type(leaf)); });
  }

  void arguments(const Computation& computation, std::vector<int>& numbers) {
    for (const InstrId id : computation.parameters) {
      value(numbers[id.index()] = next_++);
      types(computation.at(id).shape);
    }
  }

  void body(const Computation& computation, std::vector<int>& numbers) {
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      if (instruction.opcode == ir::Opcode::kParameter) continue;
      numbers[i] = op(computation, instruction, numbers);
    }
  }

  // Writes an op; returns the number of its value.
  int op(const Computation& computation, const Instruction& instruction,
         const std::vector<int>& numbers) {
    const ir::PrintedOp printed = ir::printed_op(computation, instruction);
    const int number = next_++;
    value(number);
    write_.word(printed.name);
    for (const InstrId operand : instruction.operands) value(numbers[operand.index()]);
    for (const ir::ComputationId id : instruction.called) {
      if (!printed.regions) break;
      const Computation& region = module_.at(id);
      std::vector<int> inner(region.instructions.size(), -1);
      arguments(region, inner);
      body(region, inner);
    }
    types(instruction.shape);
    if (!printed.several) return number;
    const int whole = next_++;
    value(whole);
    write_.word("stablehlo.tuple");
    for (std::size_t i = 0; write_.operands() && i < instruction.shape.elements.size(); ++i) {
      write_.word(fmt::format("%{}#{}", number, i));
    }
    types(instruction.shape);
    return whole;
  }

  const ir::Module& module_;
  TokenWriter write_;
  int next_ = 0;
};

}  // namespace

void stablehlo_tokens(const ir::Kernel& kernel, const TextSpec& spec, const TokenSink& sink) {
  const ir::Module module = ir::module_of(kernel);
  StablehloTokens(module, spec, sink).function(module.entry_computation());
}

}  // namespace tilecast::learned

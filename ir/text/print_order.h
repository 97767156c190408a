// In which order computations and instructions are printed: as XLA orders them, so that a text that
// XLA printed is printed alike. Orders are linear in the size of the module. Thread-safe.
#pragma once

#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir {

struct PrintPlan {
  // Callees first, entered from the computations that nothing calls; without those that are printed
  // as part of an asynchronous instruction.
  std::vector<ComputationId> computations;
  // By ComputationId. Textual order in scheduled computations; else depth-first post-order from the
  // instructions without users.
  std::vector<std::vector<InstrId>> instructions;
};
[[nodiscard]] PrintPlan plan_printing(const Module& module);

// The one instruction that the asynchronous `instruction` (async-start, -update, -done) wraps, when
// it can be printed as `<op>-start(...)`: its computation holds nothing but it and its parameters,
// used in order. Null otherwise, and where `<op>-start` is an opcode of its own.
[[nodiscard]] const Instruction* wrapped_instruction(const Module& module,
                                                     const Computation& computation,
                                                     const Instruction& instruction);

}  // namespace tilecast::ir

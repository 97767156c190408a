// The order in which computations and instructions are printed. It is XLA's, so that text printed
// by XLA is reproduced. Linear time. Thread-safe.
#pragma once

#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir {

struct PrintPlan {
  // Depth-first post-order (callees first) from the computations that nothing calls, without those
  // that are printed as part of an asynchronous instruction.
  std::vector<ComputationId> computations;
  // By ComputationId. The order of the text in computations of scheduled modules, except fused
  // ones; otherwise depth-first post-order from the instructions without users.
  std::vector<std::vector<InstrId>> instructions;
};
[[nodiscard]] PrintPlan plan_printing(const Module& module);

// The instruction wrapped by the asynchronous `instruction` (async-start, -update, -done), if it
// can be printed as `<op>-start(...)`: its computation holds only this instruction and its
// parameters, used in order. Null otherwise, and if `<op>-start` is an opcode of its own.
[[nodiscard]] const Instruction* wrapped_instruction(const Module& module,
                                                     const Computation& computation,
                                                     const Instruction& instruction);

}  // namespace tilecast::ir

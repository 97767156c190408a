// Which results stay on the chip between kernels, for dumps from before XLA's memory-space
// assignment, on machines whose scratchpad holds more than the tiles of one kernel (TPU v5 and
// later).
//
//   dot.1 -> f32[1024,1024]{1,0:T(8,128)S(1)}    4 MiB that add.2, the last to read it, finds there
//
// A result stays when all that reads it are kernels of the same computation: not parameters, not
// what a computation returns, not what loops, calls, asynchronous or unknown code touch, not
// updates in place of an array in main memory. Where not all fit, the one whose last use is
// furthest away goes to main memory (linear scan; Poletto and Sarkar, TOPLAS 21(5) 1999). XLA's own
// rule also moves arrays in and out between uses, and copies parameters ahead of theirs: the rule
// here keeps less. Thread-safe.
#pragma once

#include "ir/hlo.h"

namespace tilecast::ir {

struct ScratchpadRules {
  int space = 0;              // S(n) of the scratchpad
  std::int64_t capacity = 0;  // bytes for whole arrays, beside the tiles of kernels; 0: none
};

// How many results were given S(space); the module's arrays carry device layouts.
[[nodiscard]] std::size_t keep_on_chip(Module& module, const ScratchpadRules& rules);

}  // namespace tilecast::ir

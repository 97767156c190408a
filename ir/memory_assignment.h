// Decides which results stay on chip between kernels, for dumps taken before XLA's memory-space
// assignment and for machines whose scratchpad holds more than the tiles of one kernel (TPU v5 and
// later).
//
//   dot.1 -> f32[1024,1024]{1,0:T(8,128)S(1)}    4 MiB, kept until its last reader, add.2
//
// A result may stay if all its readers are kernels of the same computation. This excludes
// parameters, results of computations, arrays that loops, calls, asynchronous or unknown code
// touch, and in-place updates of arrays in main memory. If not all candidates fit, the one with the
// furthest last use goes to main memory (linear scan; Poletto and Sarkar, TOPLAS 21(5) 1999). XLA
// also moves arrays in and out between uses and prefetches parameters, so it keeps more on chip
// than this rule. Thread-safe.
#pragma once

#include "ir/hlo.h"

namespace tilecast::ir {

struct ScratchpadRules {
  friend bool operator==(const ScratchpadRules&, const ScratchpadRules&) = default;
  int space = 0;              // S(n) of the scratchpad
  std::int64_t capacity = 0;  // bytes for whole arrays, in addition to kernels' tiles; 0: none
  std::int64_t windows = 0;   // most bytes for the tiles of a kernel; 0: as many as there are
};

// Assigns S(space) to the results that stay and returns their number. The module's arrays must
// carry device layouts.
[[nodiscard]] std::size_t keep_on_chip(Module& module, const ScratchpadRules& rules);

}  // namespace tilecast::ir

// Information that compilers and libraries provide about a kernel besides its operations.
#pragma once

#include <optional>

#include "ir/shape.h"

namespace tilecast::ir {

// The compiler's tile as found in the dump (`backend_config.window_config`). Bounds are in physical
// order, major to minor; the two minormost ones are in units of native tiles (8 sublanes, 128
// lanes).
struct CompilerTile {
  Dims kernel_bounds, output_bounds, input_bounds, iteration_bounds;
  std::optional<double> estimated_cycles;
};

struct CustomCallCost {  // from the dump's cost_estimate, or from a library call's own
                         // configuration
  double flops = 0, transcendentals = 0, bytes_accessed = 0;
  bool full_precision = false;  // f32 operands are not rounded before multiplication
};

}  // namespace tilecast::ir

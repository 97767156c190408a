// What compilers and libraries say of a kernel beside its operations.
#pragma once

#include <optional>

#include "ir/shape.h"

namespace tilecast::ir {

// The compiler's own choices found in the dump (`backend_config.window_config`), bounds physical
// major to minor; the two most minor ones count native tiles (8 sublanes, 128 lanes).
struct CompilerTile {
  Dims kernel_bounds, output_bounds, input_bounds, iteration_bounds;
  std::optional<double> estimated_cycles;
};

struct CustomCallCost {  // from the dump's cost_estimate, or what a library call says of itself
  double flops = 0, transcendentals = 0, bytes_accessed = 0;
  bool full_precision = false;  // f32 is multiplied as it is
};

}  // namespace tilecast::ir

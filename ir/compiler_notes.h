// Information that compilers and libraries provide about a kernel besides its operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/attention.h"
#include "ir/kernel_body.h"
#include "ir/shape.h"
#include "ir/shared.h"

namespace tilecast::ir {

// The compiler's tile as found in the dump (`backend_config.window_config`). Bounds are in physical
// order, major to minor; the two minormost ones are in units of native tiles (8 sublanes, 128
// lanes).
struct CompilerTile {
  Dims kernel_bounds, output_bounds, input_bounds, iteration_bounds;
  std::optional<double> estimated_cycles;
};

// How XLA:GPU writes a fusion, from its kind and `block_level_fusion_config`.
struct GpuCode {
  enum class Emitter : std::uint8_t {
    kLoop,   // a thread computes four neighbouring results from whatever they need
    kHero,   // written around a transpose or a reduction
    kTriton  // by tiles
  };
  Emitter emitter = Emitter::kLoop;
  Dims tile;      // kTriton: elements of the result per block; empty: not stated
  int warps = 0;  // per block; 0: not stated
  friend bool operator==(const GpuCode&, const GpuCode&) = default;
};

struct CustomCallCost {  // from the dump's cost_estimate, or from a library call's own
                         // configuration
  double flops = 0, transcendentals = 0, bytes_accessed = 0;
  double steps = 0;                         // one after the other: a dense solver's columns
  double panel_steps = 1;                   // of them between two updates of the rest of the matrix
  bool in_turn = false;                     // products and special functions wait for each other
  bool full_precision = false;              // f32 operands are not rounded before multiplication
  std::optional<Attention> attention = {};  // fused; the counts above are its own
  Shared<KernelBody> body = {};             // its code, if that can be read
  std::string note = {};                    // why its code is not read
};

}  // namespace tilecast::ir

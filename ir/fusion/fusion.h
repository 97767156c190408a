// Our own fusion pass, for dumps taken before optimisation: gives TPU-like kernels by the public
// rules (InstructionFusion). Producers are fused into consumers in reverse post-order; expensive
// producers are never duplicated; one convolution or dot per fusion; sibling reductions over the
// same input become multi-output fusions; a limit bounds the operands of one fusion.
#pragma once

#include <cstdint>

#include "ir/hlo.h"

namespace tilecast::ir {

struct FusionOptions {
  int max_parameters = 64;     // operands of one fusion
  std::int64_t max_ops = 512;  // instructions of one fusion
  // Recompute cheap elementwise producers in each of their users where that moves fewer bytes than
  // writing and re-reading them; otherwise only broadcasts, iotas and widening converts are.
  bool recompute_to_save_bytes = true;
};

// A module counts as optimised when it holds a fusion instruction, is scheduled, or has
// device layouts.
[[nodiscard]] bool is_optimised(const Module& module);
// A module from before copy insertion with the copies that its updates in place need (XLA's
// CopyInsertion): of constants, of parameters that the caller does not give away
// (input_output_alias), of arrays that are read after the update.
[[nodiscard]] Module with_copies(Module module);
// Returns the module with fusions formed in every sequential computation. That it means something
// (ir/verify/verifier.h) is shown on thousands of random modules, not checked again in each run.
// Large modules are worth moving in.
[[nodiscard]] Module fuse(Module module, const FusionOptions& options = {});

}  // namespace tilecast::ir

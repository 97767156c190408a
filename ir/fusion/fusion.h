// Our own fusion pass, for dumps taken before optimisation. It forms TPU-like kernels by XLA's
// public rules (InstructionFusion): producers are fused into consumers in reverse post-order,
// expensive producers are never duplicated, a fusion holds at most one convolution or dot, sibling
// reductions over the same input become multi-output fusions, and the number of operands of a
// fusion is limited.
#pragma once

#include <cstdint>

#include "ir/hlo.h"

namespace tilecast::ir {

// Whose rules decide what fuses.
enum class Compiler : std::uint8_t { kXlaTpu, kXlaGpu, kXlaCpu, kNone };
// Which attentions become calls of a library: none, that of a program that is nothing else, all.
enum class AttentionCalls : std::uint8_t { kNone, kAlone, kAll };

struct FusionOptions {
  friend bool operator==(const FusionOptions&, const FusionOptions&) = default;
  Compiler compiler = Compiler::kXlaTpu;
  // kXlaGpu: most elements of a row that one kernel reduces and uses (rounded up to a power of two
  // it may take 0.4 of the 65,536 registers of a block).
  std::int64_t max_row = 16384;
  int max_parameters = 64;     // most operands of one fusion
  std::int64_t max_ops = 512;  // most instructions in one fusion
  // Recompute cheap elementwise producers in each of their users if that moves fewer bytes than
  // writing and re-reading them. If false, only broadcasts, iotas and widening converts are
  // recomputed.
  bool recompute_to_save_bytes = true;
  // Kernels work on windows of arrays on chip, as those of XLA:TPU: operands of products are made
  // where a product reads them, exponentials and the like, too, each window once; what picks
  // elements (pads, slices with steps, dynamic slices, windows) reads them from arrays.
  bool windows = false;
  // With `windows`: a convolution of each feature by itself is made where a product reads it; else
  // it makes the product that it reads.
  bool depthwise_first = true;
  AttentionCalls attention = AttentionCalls::kNone;  // of programs that no compiler has seen
};

// A module counts as optimised if it holds a fusion instruction, is scheduled, or has device
// layouts.
[[nodiscard]] bool is_optimised(const Module& module);
// Calls on the caller's thread are replaced by what they call, and computations that nothing calls
// any more are dropped. Composites are calls, too.
[[nodiscard]] Module with_calls_inlined(Module module);
// Adds the copies that in-place updates need to a module dumped before XLA's CopyInsertion: copies
// of constants, of parameters that the caller does not donate (input_output_alias), and of arrays
// that are read after the update.
[[nodiscard]] Module with_copies(Module module);
// Operands that a GPU's libraries cannot read as they lie are transposed first: of batched
// products, and filters of convolutions.
[[nodiscard]] Module with_library_operands(Module module);
// Running sums along more than 128 elements become sums of blocks, as XLA writes them for TPUs.
[[nodiscard]] Module with_block_scans(Module module);
// What fuse() and FusionSpace do before they plan: the three above, as the compiler does them.
[[nodiscard]] Module prepared_for_fusion(Module module, const FusionOptions& options);
// Returns the module with fusions formed in every sequential computation. The result is not
// verified (ir/verify/verifier.h); tests verify it for thousands of random modules. Move large
// modules in to avoid a copy.
[[nodiscard]] Module fuse(Module module, const FusionOptions& options = {});

}  // namespace tilecast::ir

// Checks that a module means something: names, arities, result shapes (through
// ir/shape_inference.h), called computations, async pairs, aliasing, channels, no cycles.
// The first violation is thrown as an Error at the instruction's place in the text.
// Rules: specs/hlo.md 2.7, 2.8; XLA's HloVerifier. Thread-safe.
#pragma once

#include "diag/source_text.h"
#include "ir/hlo.h"

namespace tilecast::ir {

struct VerifyOptions {
  bool layout_sensitive = false;         // layouts must agree too
  bool allow_mixed_precision = true;     // floating-point operands may differ in width
  bool allow_unbounded_dynamism = false;  // `?` dimensions
};

// `text` is where the module came from, for positions; may be null.
void verify(const Module& module, const diag::SourceText* text = nullptr,
            const VerifyOptions& options = {});

}  // namespace tilecast::ir

// Checks that a module is well-formed: ids, parameter numbers, arities, result shapes (through
// ir/infer/shape_inference.h), called computations, asynchronous chains, replica groups, aliasing,
// no cycles. Throws Error for the first violation, with the instruction's position in the text.
// Rules and wording follow XLA's HloVerifier. Properties that do not affect time (layouts along
// edges, shardings, deadlocks, buffer uses, original values) are not checked.
//
// Callers may rely on the following for a verified module: data and control edges form a DAG in
// every computation; the call graph is acyclic and at most 256 calls deep; parameters are numbered
// 0..n-1; ranks are at most 32; the bytes of every result fit 2^62. Thread-safe.
#pragma once

#include "base/source_text.h"
#include "ir/hlo.h"

namespace tilecast::ir {

// `text` is the module's source, for positions in messages; may be null.
void verify(const Module& module, const base::SourceText* text = nullptr);

}  // namespace tilecast::ir

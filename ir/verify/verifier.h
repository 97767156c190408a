// Checks that a module means something: ids, parameter numbers, arities, result shapes (through
// ir/infer/shape_inference.h), called computations, asynchronous chains, replica
// groups, aliasing, no cycles. The first violation is thrown as an Error at the instruction's
// position in the text.
// Rules and wording follow XLA's HloVerifier; what changes no time (layouts along edges, shardings,
// deadlocks, uses of buffers, original values) is not checked.
//
// A verified module also guarantees to the layers above: data and control edges form a DAG in every
// computation; the call graph is acyclic and at most 256 calls deep; parameters are numbered
// 0..n-1; ranks are at most 32; the bytes of every result fit 2^62. Thread-safe.
#pragma once

#include "base/source_text.h"
#include "ir/hlo.h"

namespace tilecast::ir {

// `text` is where the module came from, for positions; may be null.
void verify(const Module& module, const base::SourceText* text = nullptr);

}  // namespace tilecast::ir

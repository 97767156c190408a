// Checks that a module means something: ids, parameter numbers, arities, result shapes (through
// ir/infer/shape_inference.h), called computations, threads, asynchronous chains, channels, replica
// groups, aliasing, shardings, buffers, no cycles. The first violation is thrown as an Error at the
// instruction's place in the text.
// Rules and wording follow XLA's HloVerifier.
//
// A verified module also guarantees to the layers above: data and control edges form a DAG in every
// computation; the call graph is acyclic and at most 256 calls deep; parameters are numbered
// 0..n-1; ranks are at most 32; the bytes of every result fit 2^62. Thread-safe.
#pragma once

#include "base/source_text.h"
#include "ir/hlo.h"

namespace tilecast::ir {

struct VerifyOptions {
  bool layout_sensitive = false;             // layouts must agree too
  bool allow_mixed_precision = true;         // floating-point operands may differ in width
  bool allow_unbounded_dynamism = false;     // `?` dimensions
  bool broadcast_dimensions_ordered = true;  // dimensions={0,2}, not {2,0}
  bool names_unchanged = true;               // metadata scheduling_name is the instruction's name
  bool collective_deadlocks = true;          // order of send and recv in scheduled modules
  bool reshape_is_bitcast = false;           // reshapes move no data
  bool no_host_memory_space = false;         // no result in S(5)
};

// `text` is where the module came from, for positions; may be null.
void verify(const Module& module, const base::SourceText* text = nullptr,
            const VerifyOptions& options = {});

}  // namespace tilecast::ir

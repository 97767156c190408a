// One instruction of a module as a module of its own: what a measurement set stores of a kernel.
//
// The entry has a parameter per array the instruction reads (scalar constants stay constants;
// operands that are tuples are put together from their arrays) and the instruction as its root, or
// the end of the asynchronous chain it starts. The computations it calls come along; names are kept
// where they are unique. The result is verified and counts as scheduled, so that reading it back
// fuses nothing; its one kernel has the canonical_hash() of the original.
//
//   write_file("kernel.hlo", print_hlo(isolate(module, module.entry, fusion, "kernel")));
//
// Throws Error for the end of an asynchronous chain (isolate its start) and where a chain has no
// end in the same computation. Thread-safe.
#pragma once

#include <string>

#include "ir/hlo.h"

namespace tilecast::ir {

[[nodiscard]] Module isolate(const Module& module, ComputationId computation, InstrId instruction,
                             const std::string& name);

}  // namespace tilecast::ir

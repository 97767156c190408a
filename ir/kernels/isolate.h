// Extracts one instruction as a module of its own, in the form in which measurement sets store
// kernels.
//
// The entry has one parameter per array that the instruction reads (scalar constants stay
// constants; tuple operands are rebuilt from their arrays). Its root is the instruction, or the end
// of the asynchronous chain that the instruction starts. The computations it calls are included;
// unique names are kept. The result is verified and marked as scheduled, so that reading it back
// does not fuse it again. Its only kernel has the canonical_hash() of the original.
//
//   write_file("kernel.hlo", print_hlo(isolate(module, module.entry, fusion, "kernel")));
//
// Throws Error for the end of an asynchronous chain (isolate its start instead) and if a chain has
// no end in the same computation. Thread-safe.
#pragma once

#include <string>

#include "ir/hlo.h"

namespace tilecast::ir {

[[nodiscard]] Module isolate(const Module& module, ComputationId computation, InstrId instruction,
                             const std::string& name);

}  // namespace tilecast::ir

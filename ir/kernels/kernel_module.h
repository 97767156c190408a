// Converts a kernel to a module, for printing.
//
//   print_stablehlo(module_of(kernel))
//
// One computation holds the kernel's ops in their order, with its fusions inlined; values are
// called p0, p1 (parameters) and v0, v1, ... Of the computations that ops apply, a kernel knows
// only those with a single op (Op::applied), and these are included. If others are missing, the
// module can be printed but not verified. Thread-safe.
#pragma once

#include <string>

#include "ir/hlo.h"
#include "ir/kernel.h"

namespace tilecast::ir {

[[nodiscard]] Module module_of(const Kernel& kernel);

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
[[nodiscard]] Module isolate(const Module& module, ComputationId computation, InstrId instruction,
                             const std::string& name);

}  // namespace tilecast::ir

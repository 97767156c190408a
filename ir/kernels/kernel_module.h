// Converts a kernel to a module, for printing.
//
//   print_stablehlo(module_of(kernel))
//
// One computation holds the kernel's ops in their order, with its fusions inlined; values are
// called p0, p1 (parameters) and v0, v1, ... Of the computations that ops apply, a kernel knows
// only those with a single op (Op::applied), and these are included. If others are missing, the
// module can be printed but not verified. Thread-safe.
#pragma once

#include "ir/kernel.h"

namespace tilecast::ir {

[[nodiscard]] Module module_of(const Kernel& kernel);
// Whether all applied computations are known, so that module_of(kernel) is a complete program.
[[nodiscard]] bool is_whole(const Kernel& kernel);

}  // namespace tilecast::ir

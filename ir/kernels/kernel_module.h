// A kernel as a module of its own: what its text is printed from.
//
//   print_stablehlo(module_of(kernel))
//
// One computation holds the kernel's ops in their order, with its fusions inlined; values are
// called p0, p1 (parameters) and v0, v1, ... Of the computations that ops apply a kernel knows only
// those of one op (Op::applied): they come along; without the others the module is text for people
// and models, and cannot be verified. Thread-safe.
#pragma once

#include "ir/kernel.h"

namespace tilecast::ir {

[[nodiscard]] Module module_of(const Kernel& kernel);
// Whether all that it applies is known, so that module_of(kernel) is a whole program.
[[nodiscard]] bool is_whole(const Kernel& kernel);

}  // namespace tilecast::ir

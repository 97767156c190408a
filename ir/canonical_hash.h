// A kernel's identity on disk: equal for kernels that compute the same, whatever their names, the
// order of their ops or the numbering of their parameters; stable across processes and versions of
// this format. 32 hex digits (128 bits). Thread-safe.
#pragma once

#include <string>

#include "ir/kernel.h"

namespace tilecast::ir {

[[nodiscard]] std::string canonical_hash(const Kernel& kernel);

}  // namespace tilecast::ir

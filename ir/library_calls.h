// Products and convolutions that XLA:GPU gives to a library, as the operations they are.
//
// Custom calls of cuBLAS, cuBLASLt (rocBLAS and hipBLASLt stand under the same names) and cuDNN
// forward convolutions become `dot` and `convolution` of their first two operands, TopK `topk`,
// under their own names: XLA's counts of them (gpu_hlo_cost_analysis) are those. Bias, scales and a
// matrix that is added are left out: their bytes are not counted, nor is the scratch memory of the
// library. A call whose shapes do not fit its dimension numbers, or whose results are used
// otherwise, stays opaque.
#pragma once

#include <optional>

#include "ir/hlo.h"

namespace tilecast::ir {

// Nothing where the module has no such call. The module must be verified. Thread-safe.
[[nodiscard]] std::optional<Module> with_library_calls_replaced(const Module& module);

}  // namespace tilecast::ir

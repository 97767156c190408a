// Rewrites XLA:GPU library calls as the HLO operations they perform.
//
// Custom calls to cuBLAS and cuBLASLt (rocBLAS and hipBLASLt use the same names) and cuDNN forward
// convolutions become `dot` and `convolution` of their first two operands, and TopK becomes `topk`.
// Instruction names are kept. XLA counts work the same way (gpu_hlo_cost_analysis). The bytes of
// bias, scales, an added matrix and the library's scratch memory are not counted. A call stays
// opaque if its shapes do not match its dimension numbers or its other results are used.
#pragma once

#include <optional>

#include "ir/hlo.h"

namespace tilecast::ir {

// nullopt if the module has no such call. The module must be verified. Thread-safe.
[[nodiscard]] std::optional<Module> with_library_calls_replaced(const Module& module);

}  // namespace tilecast::ir

// Rewrites XLA:GPU library calls as the HLO operations they perform.
//
// Custom calls to cuBLAS and cuBLASLt (rocBLAS and hipBLASLt use the same names) and cuDNN forward
// convolutions become `dot` and `convolution` of their first two operands, and TopK becomes `topk`.
// So does CUB's radix sort, as `sort`. Instruction names are kept. XLA counts work the same way
// (gpu_hlo_cost_analysis). The bytes of bias, scales, an added matrix and the library's scratch
// memory are not counted. A call stays opaque if its shapes do not match its dimension numbers or
// its other results are used.
#pragma once

#include <optional>
#include <span>

#include "ir/backend_config.h"
#include "ir/hlo.h"
#include "ir/kernel.h"

namespace tilecast::ir {

// nullopt if the module has no such call. The module must be verified. Thread-safe.
[[nodiscard]] std::optional<Module> with_library_calls_replaced(const Module& module);

// The work of library calls that can be recognised: cuDNN attention from the products in its
// configuration; gradients of cuDNN convolutions; dense solvers (cuSOLVER, LAPACK and the calls
// that XLA:TPU keeps) from their names.
//
// FLOPs of solvers: Golub and Van Loan, Matrix Computations, 4th ed.: QR 2 m n^2 - 2/3 n^3 (and as
// much to form Q), LU m n^2 - n^3 / 3, Cholesky n^3 / 3, symmetric eigenvalues with vectors 9 n^3,
// unsymmetric 25 n^3, R-SVD 6 m n^2 + 20 n^3; m >= n. Complex types: four times as many.
// Their columns are steps that wait for each other.
// Pallas kernels for TPUs: their code, as attention if it chains products so; a cost that the call
// states counts where data decide what the code does, and without code.
// nullopt if nothing is known. `operands`: shapes of the call's operands; `config`: what
// read_backend_config() says of it. Thread-safe.
[[nodiscard]] std::optional<CustomCallCost> library_cost(const Instruction& call,
                                                         std::span<const Shape> operands,
                                                         const BackendConfig& config);

}  // namespace tilecast::ir

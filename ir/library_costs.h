// The work of library calls that can be recognised: cuDNN attention from the products in its
// configuration; dense solvers (cuSOLVER, LAPACK and the calls that XLA:TPU keeps) from their
// names.
//
// FLOPs of solvers: Golub and Van Loan, Matrix Computations, 4th ed.: QR 2 m n^2 - 2/3 n^3 (and as
// much to form Q), LU m n^2 - n^3 / 3, Cholesky n^3 / 3, symmetric eigenvalues with vectors 9 n^3,
// unsymmetric 25 n^3, R-SVD 6 m n^2 + 20 n^3; m >= n. Complex types: four times as many.
#pragma once

#include <optional>
#include <span>

#include "ir/hlo.h"
#include "ir/kernel.h"

namespace tilecast::ir {

// nullopt if the call is not recognised. `operands`: shapes of the call's operands. Thread-safe.
[[nodiscard]] std::optional<CustomCallCost> library_cost(const Instruction& call,
                                                         std::span<const Shape> operands);

}  // namespace tilecast::ir

// How many threads LibTorch and its BLAS use, and which BLAS that is. For the whole process.
#pragma once

#include <string>

namespace tilecast::learned::torch_module {

// Inside one operation. OpenBLAS has threads of its own, beside LibTorch's; both are set.
void set_threads(int threads);
// "OpenBLAS", or "reference BLAS: slow, install libopenblas0-pthread".
[[nodiscard]] std::string blas_name();

}  // namespace tilecast::learned::torch_module

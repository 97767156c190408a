#include "validation/measure_cuda/gemm_table.cuh"

namespace tilecast::measure_cuda {

template <>
std::span<const GemmKernel<__half>> gemm_kernels<__half>() {
  return make_gemm_kernels<__half>();
}

}  // namespace tilecast::measure_cuda

#include "validation/measure_cuda/gemm_table.cuh"

namespace tilecast::measure_cuda {

template <>
std::span<const GemmKernel<__nv_bfloat16>> gemm_kernels<__nv_bfloat16>() {
  return make_gemm_kernels<__nv_bfloat16>();
}

}  // namespace tilecast::measure_cuda

// The compiled kernels of one input type, in the order of TILECAST_GEMM_TILES.
#pragma once

#include <array>
#include <span>

#include "validation/measure_cuda/gemm_kernel.cuh"

namespace tilecast::measure_cuda {

template <class T>
struct GemmKernel {
  int block_m, block_n, block_k, warps;
  void (*launch)(GemmArrays<T>, int stages);
};

template <class T>
[[nodiscard]] std::span<const GemmKernel<T>> gemm_kernels();  // gemm_f16.cu, gemm_bf16.cu

#define TILECAST_GEMM_KERNEL(M, N, K, W) GemmKernel<T>{M, N, K, W, &gemm<T, M, N, K, W>},
template <class T>
std::span<const GemmKernel<T>> make_gemm_kernels() {
  static const std::array kernels = {TILECAST_GEMM_TILES(TILECAST_GEMM_KERNEL)};
  return kernels;
}
#undef TILECAST_GEMM_KERNEL

}  // namespace tilecast::measure_cuda

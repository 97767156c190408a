// A matrix product on tensor cores with a pipeline of asynchronous copies: the code of one block.
//
// Per step of block_k, the block copies block_m x block_k of A and block_k x block_n of B into one
// of `stages` buffers in shared memory (cp.async, 16 bytes per thread; zeros beyond the edges),
// while the warps multiply an earlier buffer with wmma 16x16x16. Sums stay in registers until the
// end.
//
// Buffers, for S >= 2 stages: step t reads buffer t mod S. Before it, t + S - 1 groups of copies
// were committed and groups 0..t must have arrived, so at most S - 2 may be pending. The barrier
// after that wait also ensures that all warps have read step t - 1, whose buffer receives step t +
// S - 1. Requires compute capability 8.0. TMA and wgmma (9.0) are not used.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

#include "validation/measure_cuda/gemm_config.h"

namespace tilecast::measure_cuda {

__device__ inline float to_float(__half value) {
  return __half2float(value);
}
__device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
template <class T>
__device__ T from_float(float value);
template <>
__device__ inline __half from_float<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

// Copies 16 bytes from global to shared memory; writes zeros without reading if not `inside`.
__device__ inline void copy_async(void* shared, const void* global, bool inside) {
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(global), "r"(bytes)
               : "memory");
}
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}
// Waits until at most `pending` groups are in flight (the instruction requires a literal).
__device__ inline void wait_for_copies(int pending) {
  switch (pending) {
    case 0:
      asm volatile("cp.async.wait_group 0;\n" ::: "memory");
      break;
    case 1:
      asm volatile("cp.async.wait_group 1;\n" ::: "memory");
      break;
    case 2:
      asm volatile("cp.async.wait_group 2;\n" ::: "memory");
      break;
    default:
      asm volatile("cp.async.wait_group 3;\n" ::: "memory");
      break;
  }
}

template <class T>
struct GemmArrays {
  const T* a;
  const T* b;
  T* c;
  int m, n, k;
};

template <class T, int kBlockM, int kBlockN, int kBlockK, int kWarps>
struct GemmBlock {
  static constexpr int kThreads = kWarps * kThreadsPerWarp;
  static constexpr int kWarpRows = warp_rows(kBlockM, kBlockN, kWarps);
  static constexpr int kWarpM = kBlockM / kWarpRows;
  static constexpr int kWarpN = kBlockN / (kWarps / kWarpRows);
  static constexpr int kFragmentsM = kWarpM / kFragment;
  static constexpr int kFragmentsN = kWarpN / kFragment;
  static constexpr int kRowA = kBlockK + kPadding;
  static constexpr int kRowB = kBlockN + kPadding;
  static constexpr int kBufferA = kBlockM * kRowA;
  static constexpr int kBuffer = kBufferA + kBlockK * kRowB;
  static_assert(kWarpM % kFragment == 0 && kWarpN % kFragment == 0 && kBlockK % kFragment == 0);
  static_assert(sums_per_thread(kBlockM, kBlockN, kWarps) <= kMaxSumsPerThread);

  using Sum =
      nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kFragment, kFragment, kFragment, float>;
  using Left = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, kFragment, kFragment, kFragment, T,
                                      nvcuda::wmma::row_major>;
  using Right = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, kFragment, kFragment, kFragment, T,
                                       nvcuda::wmma::row_major>;

  // Copies kRows x kColumns elements at (row, column) of a matrix of rows x columns.
  template <int kRows, int kColumns, int kSharedRow>
  __device__ static void load(T* shared, const T* matrix, int row, int column, int rows,
                              int columns) {
    constexpr int kPieces = kColumns / kAlign;
    for (int i = threadIdx.x; i < kRows * kPieces; i += kThreads) {
      const int r = i / kPieces;
      const int c = i % kPieces * kAlign;
      const bool inside = row + r < rows && column + c < columns;
      const T* from = matrix;
      if (inside) from += static_cast<std::int64_t>(row + r) * columns + column + c;
      copy_async(shared + r * kSharedRow + c, from, inside);
    }
  }

  __device__ static void load_step(T* buffer, const GemmArrays<T>& g, int step) {
    const int k = step * kBlockK;
    load<kBlockM, kBlockK, kRowA>(buffer, g.a, blockIdx.y * kBlockM, k, g.m, g.k);
    load<kBlockK, kBlockN, kRowB>(buffer + kBufferA, g.b, k, blockIdx.x * kBlockN, g.k, g.n);
  }

  __device__ static void multiply(const T* buffer, int warp_m, int warp_n,
                                  Sum (&sums)[kFragmentsM][kFragmentsN]) {
    const T* a = buffer + warp_m * kWarpM * kRowA;
    const T* b = buffer + kBufferA + warp_n * kWarpN;
#pragma unroll
    for (int k = 0; k < kBlockK; k += kFragment) {
      Right right[kFragmentsN];
#pragma unroll
      for (int j = 0; j < kFragmentsN; ++j) {
        nvcuda::wmma::load_matrix_sync(right[j], b + k * kRowB + j * kFragment, kRowB);
      }
#pragma unroll
      for (int i = 0; i < kFragmentsM; ++i) {
        Left left;
        nvcuda::wmma::load_matrix_sync(left, a + i * kFragment * kRowA + k, kRowA);
#pragma unroll
        for (int j = 0; j < kFragmentsN; ++j) {
          nvcuda::wmma::mma_sync(sums[i][j], left, right[j], sums[i][j]);
        }
      }
    }
  }

  // Each warp passes its fragments through its own area of shared memory, because the layout of a
  // fragment in registers is unspecified. Each lane then has half a row: 8 results, one 16-byte
  // store.
  __device__ static void store(float* corner, const GemmArrays<T>& g, int warp_m, int warp_n,
                               Sum (&sums)[kFragmentsM][kFragmentsN]) {
    const int lane = threadIdx.x % kThreadsPerWarp;
    const int r = lane / 2;
    const int c = lane % 2 * kAlign;
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
      for (int j = 0; j < kFragmentsN; ++j) {
        nvcuda::wmma::store_matrix_sync(corner, sums[i][j], kFragment, nvcuda::wmma::mem_row_major);
        __syncwarp();
        const int row = blockIdx.y * kBlockM + warp_m * kWarpM + i * kFragment + r;
        const int column = blockIdx.x * kBlockN + warp_n * kWarpN + j * kFragment + c;
        if (row < g.m && column < g.n) {
          alignas(16) T out[kAlign];
#pragma unroll
          for (int e = 0; e < kAlign; ++e) out[e] = from_float<T>(corner[r * kFragment + c + e]);
          *reinterpret_cast<uint4*>(g.c + static_cast<std::int64_t>(row) * g.n + column) =
              *reinterpret_cast<const uint4*>(out);
        }
        __syncwarp();
      }
    }
  }
};

template <class T, int kBlockM, int kBlockN, int kBlockK, int kWarps>
__global__ void __launch_bounds__(kWarps* kThreadsPerWarp) gemm(GemmArrays<T> g, int stages) {
  using Block = GemmBlock<T, kBlockM, kBlockN, kBlockK, kWarps>;
  extern __shared__ __align__(128) unsigned char shared[];
  T* const buffers = reinterpret_cast<T*>(shared);
  const int warp = threadIdx.x / kThreadsPerWarp;
  const int warp_m = warp % Block::kWarpRows;
  const int warp_n = warp / Block::kWarpRows;
  typename Block::Sum sums[Block::kFragmentsM][Block::kFragmentsN];
#pragma unroll
  for (int i = 0; i < Block::kFragmentsM; ++i) {
#pragma unroll
    for (int j = 0; j < Block::kFragmentsN; ++j) nvcuda::wmma::fill_fragment(sums[i][j], 0.0f);
  }
  const int steps = (g.k + kBlockK - 1) / kBlockK;
  for (int step = 0; step < stages - 1; ++step) {
    if (step < steps) Block::load_step(buffers + step * Block::kBuffer, g, step);
    commit_copies();  // an empty group counts as well, so that waits need no special case
  }
  int reads = 0;           // buffer of this step
  int fills = stages - 1;  // buffer of step + stages - 1
  for (int step = 0; step < steps; ++step) {
    if (stages > 1) wait_for_copies(stages - 2);
    __syncthreads();
    if (step + stages - 1 < steps) {
      Block::load_step(buffers + fills * Block::kBuffer, g, step + stages - 1);
    }
    commit_copies();
    if (stages == 1) {  // the only buffer is free after the barrier: fill it, and wait
      wait_for_copies(0);
      __syncthreads();
    }
    Block::multiply(buffers + reads * Block::kBuffer, warp_m, warp_n, sums);
    reads = reads + 1 == stages ? 0 : reads + 1;
    fills = fills + 1 == stages ? 0 : fills + 1;
  }
  wait_for_copies(0);
  __syncthreads();  // the buffers become the warps' areas
  float* const corner = reinterpret_cast<float*>(shared) + warp * kFragment * kFragment;
  Block::store(corner, g, warp_m, warp_n, sums);
}

}  // namespace tilecast::measure_cuda

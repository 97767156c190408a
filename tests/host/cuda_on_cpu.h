// Emulates the CUDA features of generated kernels (host/cuda_loops.h) on a CPU: a C++ compiler
// compiles the text, with this file in place of cuda_runtime.h, cuda_bf16.h, cuda_fp16.h,
// cuda_pipeline.h and mma.h. Not part of the test program.
//
// A block's threads are fibers. Between two barriers each warp runs alone, and between two warp
// barriers each lane, in a varying order, so that a missing barrier gives wrong results. Shared
// memory starts as NaNs. An asynchronous copy immediately fills its destination with NaNs and
// completes only when its thread waits for it. Ends the process with a message if barriers do not
// match, an address is not aligned, or an access is outside shared memory.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))

// --- types

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned of_x = 1) : x(of_x) {}
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};

struct __nv_bfloat16 {
  uint16_t bits;
  __nv_bfloat16() = default;
  explicit __nv_bfloat16(float x) {
    uint32_t b;
    memcpy(&b, &x, 4);
    if (x == x) b += 0x7fff + (b >> 16 & 1);
    bits = static_cast<uint16_t>(b >> 16 | (x == x ? 0 : 0x40));
  }
  operator float() const {
    const uint32_t b = static_cast<uint32_t>(bits) << 16;
    float x;
    memcpy(&x, &b, 4);
    return x;
  }
};
struct __half {
  uint16_t bits;
  __half() = default;
  explicit __half(float x) {  // rounds to the spacing of f16 numbers around x
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const double a = fabs(static_cast<double>(x));
    int exponent = a > 0 ? ilogb(a) : -14;
    if (exponent < -14) exponent = -14;
    const double steps = a == a ? nearbyint(ldexp(a, 10 - exponent)) : 0;  // 2048: next exponent
    const double all = steps + 1024.0 * (exponent + 14);
    bits = static_cast<uint16_t>(sign | (a != a         ? 0x7e00
                                         : all > 0x7c00 ? 0x7c00
                                                        : static_cast<int>(all)));
  }
  operator float() const {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double a = exponent == 31  ? (mantissa != 0 ? NAN : INFINITY)
                     : exponent == 0 ? ldexp(mantissa, -24)
                                     : ldexp(1024 + mantissa, exponent - 25);
    return static_cast<float>((bits & 0x8000) != 0 ? -a : a);
  }
};
inline float __bfloat162float(__nv_bfloat16 x) {
  return x;
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return __nv_bfloat16(x);
}
inline float __half2float(__half x) {
  return x;
}
inline __half __float2half_rn(float x) {
  return __half(x);
}

// --- a block

__attribute__((aligned(128))) unsigned char shared_memory[256 << 10];
inline dim3 threadIdx, blockIdx;

namespace on_cpu {

[[noreturn]] inline void fail(const char* what, long a = 0, long b = 0) {
  fprintf(stderr, "cuda_on_cpu: %s (%ld, %ld) in block %u, thread %u\n", what, a, b, blockIdx.x,
          threadIdx.x);
  _exit(3);
}

struct Copy {
  void* to;
  const void* from;
  size_t bytes, zeros;
};
struct Thread {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool ended = false;
  int barrier = 0;    // 0: none, else its line in the text
  unsigned warp = 0;  // mask of lanes that wait for each other; 0: the whole block
  std::deque<std::vector<Copy>> batches;
  std::vector<Copy> batch;
};

inline std::vector<Thread> threads;
inline ucontext_t scheduler;
inline void (*body)(void*);
inline void* body_arguments;
inline uint64_t exchanged[1024];

inline void wait(int line, unsigned mask) {
  Thread& self = threads[threadIdx.x];
  self.barrier = line;
  self.warp = mask;
  swapcontext(&self.context, &scheduler);
}
inline void run_thread() {
  body(body_arguments);
  threads[threadIdx.x].ended = true;
}

// Releases the lanes of the warp whose partners have arrived at the same barrier; returns whether
// there are any.
inline bool release_lanes(size_t warp) {
  bool any = false;
  for (size_t i = 32 * warp; i < 32 * warp + 32; ++i) {
    const Thread& t = threads[i];
    if (t.ended || t.barrier == 0 || t.warp == 0) continue;
    bool met = true;
    for (size_t l = 0; l < 32; ++l) {
      const Thread& other = threads[32 * warp + l];
      const bool here = !other.ended && other.warp == t.warp && other.barrier == t.barrier;
      met = met && ((t.warp >> l & 1) == 0 || here);
    }
    if (!met) continue;
    any = true;
    const unsigned lanes = t.warp;
    for (size_t l = 0; l < 32; ++l) {
      if ((lanes >> l & 1) != 0) threads[32 * warp + l].barrier = 0;
    }
  }
  return any;
}
inline bool release_block() {
  int line = 0;
  for (const Thread& t : threads) {
    if (t.ended) continue;
    if (t.warp != 0) fail("lanes that wait for others", t.barrier);
    if (line != 0 && t.barrier != line) fail("two barriers", line, t.barrier);
    line = t.barrier;
  }
  for (Thread& t : threads) t.barrier = 0;
  return line != 0;
}

// Runs each warp until it needs the others.
inline void run_warps(unsigned order) {
  const unsigned warps = static_cast<unsigned>(threads.size()) / 32;
  for (unsigned i = 0; i < warps; ++i) {
    const unsigned warp = order % 2 == 0 ? i : warps - 1 - i;
    do {
      for (unsigned l = 0; l < 32; ++l) {
        const unsigned lane = order / 2 % 2 == 0 ? l : 31 - l;
        threadIdx.x = 32 * warp + lane;
        Thread& next = threads[threadIdx.x];
        if (!next.ended && next.barrier == 0) swapcontext(&scheduler, &next.context);
      }
    } while (release_lanes(warp));
  }
}

inline void run_block(unsigned block, unsigned count, size_t shared) {
  constexpr size_t kStack = 256 << 10;
  blockIdx.x = block;
  const size_t watched =
      shared + 4096 < sizeof shared_memory ? shared + 4096 : sizeof shared_memory;
  memset(shared_memory, 0xff, watched);
  threads.resize(count);
  for (Thread& t : threads) {
    if (!t.stack) t.stack = std::make_unique_for_overwrite<char[]>(kStack);
    t.ended = false;
    t.barrier = 0;
    t.batches.clear();
    t.batch.clear();
    getcontext(&t.context);
    t.context.uc_stack.ss_sp = t.stack.get();
    t.context.uc_stack.ss_size = kStack;
    t.context.uc_link = &scheduler;
    makecontext(&t.context, run_thread, 0);
  }
  unsigned order = block;
  do {
    run_warps(order++);
  } while (release_block());
  for (unsigned i = 0; i < count; ++i) {
    threadIdx.x = i;
    for (const auto& batch : threads[i].batches) {
      if (!batch.empty()) fail("copies that nobody waited for");
    }
    if (!threads[i].batch.empty()) fail("copies that nobody committed");
  }
  for (size_t i = shared; i < watched; ++i) {
    if (shared_memory[i] != 0xff) fail("shared memory is left", static_cast<long>(i));
  }
}

inline void check_aligned(const void* address, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    fail("not aligned", static_cast<long>(bytes));
}

}  // namespace on_cpu

// --- threads among each other

inline void __syncthreads(int line = __builtin_LINE()) {
  on_cpu::wait(line, 0);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
  on_cpu::wait(line, mask);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int apart, int line = __builtin_LINE()) {
  static_assert(sizeof(T) <= 8);
  memcpy(&on_cpu::exchanged[threadIdx.x], &value, sizeof value);
  on_cpu::wait(line, mask);
  memcpy(&value, &on_cpu::exchanged[threadIdx.x ^ static_cast<unsigned>(apart)], sizeof value);
  on_cpu::wait(line, mask);
  return value;
}

// --- cp.async

inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  if (bytes != 4 && bytes != 8 && bytes != 16) on_cpu::fail("a copy of so many bytes", (long)bytes);
  on_cpu::check_aligned(to, bytes);
  on_cpu::check_aligned(from, bytes);
  memset(to, 0xff, bytes);
  on_cpu::threads[threadIdx.x].batch.push_back({to, from, bytes, zeros});
}
inline void __pipeline_commit() {
  on_cpu::Thread& self = on_cpu::threads[threadIdx.x];
  self.batches.push_back(std::move(self.batch));
  self.batch.clear();
}
inline void __pipeline_wait_prior(size_t prior) {
  on_cpu::Thread& self = on_cpu::threads[threadIdx.x];
  while (self.batches.size() > prior) {
    for (const on_cpu::Copy& copy : self.batches.front()) {
      memset(copy.to, 0, copy.bytes);
      memcpy(copy.to, copy.from, copy.bytes - copy.zeros);
    }
    self.batches.pop_front();
  }
}

// --- matrix fragments: every lane has whole operands and 8 of the 256 sums

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
enum layout_t { mem_row_major };

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static_assert(M == 16 && N == 16 && K == 16);
  float x[256];
};
template <>
struct fragment<accumulator, 16, 16, 16, float, void> {
  float x[8];
};
using Sums = fragment<accumulator, 16, 16, 16, float, void>;

inline void fill_fragment(Sums& sums, float value) {
  for (float& x : sums.x) x = value;
}
template <class Use, class T>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, row_major>& to, const T* from, unsigned row) {
  on_cpu::check_aligned(from, 32);
  if (row % 8 != 0) on_cpu::fail("rows of a fragment are not 16 bytes apart", row);
  for (unsigned i = 0; i < 256; ++i) to.x[i] = static_cast<float>(from[i / 16 * row + i % 16]);
}
template <class T>
void mma_sync(Sums& d, const fragment<matrix_a, 16, 16, 16, T, row_major>& a,
              const fragment<matrix_b, 16, 16, 16, T, row_major>& b, const Sums& c) {
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned element = threadIdx.x % 32 * 8 + i;
    float sum = c.x[i];
    for (unsigned p = 0; p < 16; ++p)
      sum += a.x[element / 16 * 16 + p] * b.x[16 * p + element % 16];
    d.x[i] = sum;
  }
}
inline void store_matrix_sync(float* to, const Sums& from, unsigned row, layout_t) {
  on_cpu::check_aligned(to, 32);
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned element = threadIdx.x % 32 * 8 + i;
    to[element / 16 * row + element % 16] = from.x[i];
  }
}

}  // namespace nvcuda::wmma

// --- the host's side

using cudaError_t = int;
using cudaStream_t = void*;
constexpr cudaError_t cudaSuccess = 0;
constexpr int cudaFuncAttributeMaxDynamicSharedMemorySize = 8;
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, int, int) {
  return cudaSuccess;
}

template <class... Arguments, size_t... I>
cudaError_t launch_on_cpu(void (*kernel)(Arguments...), dim3 grid, dim3 block, void** arguments,
                          size_t shared, std::index_sequence<I...>) {
  auto call = [&] { kernel(*static_cast<Arguments*>(arguments[I])...); };
  on_cpu::body = [](void* f) { (*static_cast<decltype(call)*>(f))(); };
  on_cpu::body_arguments = &call;
  if (block.x > 1024 || shared > sizeof shared_memory)
    on_cpu::fail("too large a block", block.x, (long)shared);
  for (unsigned b = 0; b < grid.x; ++b) on_cpu::run_block(b, block.x, shared);
  return cudaSuccess;
}
template <class... Arguments>
cudaError_t cudaLaunchKernel(void (*kernel)(Arguments...), dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t) {
  return launch_on_cpu(kernel, grid, block, arguments, shared,
                       std::index_sequence_for<Arguments...>());
}

// Writes a loop program as CUDA C++ for NVIDIA GPUs of compute capability 8.0 and later.
//
//   const schedule::TiledLoops loops = schedule::tiled_loops(kernel, tile, target_of(device));
//   auto cuda = cuda_of_loops(schedule::pipelined(loops.program), loops.block, "k17");
//   if (const auto* c = std::get_if<CudaKernel>(&cuda)) write(c->source);
//
// The program must be pipelined. Each top-level nest becomes a CUDA kernel; its outermost parallel
// loops form the grid, one block per iteration. Shared-memory buffers use dynamic shared memory;
// asynchronous copies use __pipeline_memcpy_async (cp.async) of 16, 8 or 4 bytes with its commit
// and wait for batches. cuda_registers.h handles registers and products, cuda_sync.h barriers. The
// text is a complete file with a host function that launches the kernels in order:
//
//   cudaError_t launch_k17(const void* const* in, void* const* out, void* scratch, cudaStream_t);
//
// Pointers refer to device memory and are aligned to 16 bytes. Thread-safe and deterministic.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "host/c_kernel.h"
#include "schedule/loop_program.h"
#include "schedule/thread_layout.h"

namespace tilecast::host {

struct CudaLaunch {
  std::string kernel;  // the __global__ function
  std::int64_t blocks = 1, threads = 32;
  std::int64_t shared_bytes = 0;  // dynamic, per block
};
struct CudaKernel {
  std::string source;
  std::vector<CudaLaunch> launches;  // in order
  std::int64_t scratch_bytes = 0;    // main memory for temporaries between kernels
};
// `function` is a C identifier.
[[nodiscard]] std::variant<CudaKernel, Unsupported> cuda_of_loops(
    const schedule::LoopProgram& program, const schedule::ThreadBlock& block,
    const std::string& function);

// The text to put before `text`: includes, and the parts of c_prelude() that it uses.
[[nodiscard]] std::string cuda_prelude(const std::string& text);

}  // namespace tilecast::host

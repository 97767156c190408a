// A loop program as CUDA C++ for NVIDIA GPUs of compute capability 8.0 on.
//
//   const schedule::TiledLoops made = schedule::tiled_loops(kernel, tile, target_of(device));
//   auto cuda = cuda_of_loops(schedule::pipelined(made.program), made.block, "k17");
//   if (const auto* c = std::get_if<CudaKernel>(&cuda)) write(c->source);
//
// Takes the pipelined program. Each nest at the top is a kernel; its outermost parallel loops are
// the grid, one block each. Buffers in shared memory are dynamic shared memory, asynchronous copies
// __pipeline_memcpy_async (cp.async) of 16, 8 or 4 bytes, batches its commit and wait; registers
// and products are as cuda_registers.h says, barriers as cuda_sync.h. The text is a whole file,
// with a host function that launches its kernels one after the other:
//
//   cudaError_t launch_k17(const void* const* in, void* const* out, void* scratch, cudaStream_t);
//
// Pointers are to device memory, aligned to 16 bytes. Thread-safe; same program, same text.
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
  std::int64_t shared_bytes = 0;  // of a block, dynamic
};
struct CudaKernel {
  std::string source;
  std::vector<CudaLaunch> launches;  // in order
  std::int64_t scratch_bytes = 0;    // of main memory, for temporaries between kernels
};
// `function` is a C identifier.
[[nodiscard]] std::variant<CudaKernel, Unsupported> cuda_of_loops(
    const schedule::LoopProgram& program, const schedule::ThreadBlock& block,
    const std::string& function);

// What `text` needs before it: includes, and those parts of c_prelude() that it uses.
[[nodiscard]] std::string cuda_prelude(const std::string& text);

}  // namespace tilecast::host

// Runs generated CUDA in tests: on the CPU, compiled against cuda_on_cpu.h, and on a GPU if there
// is one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/compiled_library.h"
#include "host/cuda_loops.h"
#include "host/run_kernels.h"
#include "ir/kernel.h"
#include "schedule/loop_program.h"
#include "tests/interpreter/evaluate.h"

namespace tilecast::host {

struct CudaCase {
  ir::Kernel kernel;
  schedule::LoopProgram program;  // pipelined
  schedule::ThreadBlock block;
  std::string source = {};  // from cuda_of_loops(program, block, "kernel")
  std::int64_t scratch_bytes = 0;
};
// Generates the source. Returns why there is none; "" on success.
[[nodiscard]] std::string make_source(CudaCase& made);

// Compiles all cases into one library. Throws Error with the compiler's output.
[[nodiscard]] CompiledLibrary compile_on_cpu(const std::vector<CudaCase>& cases);
// Runs case `i` of the library on small whole numbers. Returns a description of wrong results or
// synchronisation errors; "" if there are none.
[[nodiscard]] std::string run_on_cpu(const CompiledLibrary& library, const CudaCase& made,
                                     std::size_t i);

// The same on an NVIDIA GPU; nullopt without nvcc or a GPU.
[[nodiscard]] std::optional<CompiledLibrary> compile_on_gpu(const std::vector<CudaCase>& cases);
[[nodiscard]] std::string run_on_gpu(const CompiledLibrary& library, const CudaCase& made,
                                     std::size_t i);

// nvcc's output for the texts with target "sm_80": a single one unchanged, several in one file,
// each in a namespace. "" if it accepts them, nullopt without nvcc.
[[nodiscard]] std::optional<std::string> compile_for_gpu(const std::vector<CudaCase>& cases,
                                                         const std::string& architecture);

}  // namespace tilecast::host

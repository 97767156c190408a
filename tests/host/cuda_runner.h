// Generated CUDA run by tests: on this machine's CPU, compiled against cuda_on_cpu.h, and on a GPU
// where there is one.
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
  std::string source = {};  // of cuda_of_loops(program, block, "kernel")
  std::int64_t scratch_bytes = 0;
};
// Why it has no CUDA; "" once its source is made.
[[nodiscard]] std::string make_source(CudaCase& made);

// All in one library. Throws Error with what the compiler said.
[[nodiscard]] CompiledLibrary compile_on_cpu(const std::vector<CudaCase>& cases);
// What is wrong with case `i` of the library: with its results on small whole numbers, or with how
// its threads wait for each other; "" where nothing is.
[[nodiscard]] std::string run_on_cpu(const CompiledLibrary& library, const CudaCase& made,
                                     std::size_t i);

// The same on an NVIDIA GPU; nothing where nvcc or a GPU is absent.
[[nodiscard]] std::optional<CompiledLibrary> compile_on_gpu(const std::vector<CudaCase>& cases);
[[nodiscard]] std::string run_on_gpu(const CompiledLibrary& library, const CudaCase& made,
                                     std::size_t i);

// What nvcc says to the texts for "sm_80": to a single one as it is, to several in one file, each
// in a namespace. "" where it takes them, nothing where there is no nvcc.
[[nodiscard]] std::optional<std::string> compile_for_gpu(const std::vector<CudaCase>& cases,
                                                         const std::string& architecture);

}  // namespace tilecast::host

#include "tests/host/cuda_runner.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "host/child_command.h"
#include "host/run_once.h"
#include "host/temporary_folder.h"
#include "tests/host/array_bytes.h"
#include "tests/schedule/random_schedules.h"
#include "tests/support/folders.h"

namespace tilecast::host {
namespace {

constexpr Seconds kPatience{300};

// What the command says; its status is 0 where that is empty.
std::string complaint_of(std::vector<std::string> command, const std::string& folder) {
  ChildCommand child(std::move(command), folder, kPatience);
  while (child.read_some()) {
  }
  if (child.wait() == 0) return {};
  const std::string text = child.text();
  return text.empty() ? "it failed" : text;
}

}  // namespace

std::string make_source(CudaCase& made) {
  auto cuda = cuda_of_loops(made.program, made.block, "kernel");
  if (const auto* unsupported = std::get_if<Unsupported>(&cuda)) return unsupported->reason;
  made.source = std::get<CudaKernel>(cuda).source;
  made.scratch_bytes = std::get<CudaKernel>(cuda).scratch_bytes;
  return {};
}

CompiledLibrary compile_on_cpu(const std::vector<CudaCase>& cases) {
  TemporaryFolder folder;
  const std::string stand_in = support::source_dir().string() + "/tests/host/cuda_on_cpu.h";
  for (const char* header :
       {"cuda_bf16.h", "cuda_fp16.h", "cuda_pipeline.h", "cuda_runtime.h", "mma.h"}) {
    (void)folder.write(header, fmt::format("#include \"{}\"\n", stand_in));
  }
  std::string text = "#include <cuda_runtime.h>\n#include <math.h>\n#include <string.h>\n";
  for (std::size_t i = 0; i < cases.size(); ++i) {
    // A namespace each: names without one are those of the stand-in.
    std::string source = cases[i].source;
    for (const std::string_view global :
         {"extern \"C\" ", "extern __shared__ __align__(128) unsigned char shared_memory[];"}) {
      for (std::size_t at = 0; (at = source.find(global, at)) != std::string::npos;) {
        source.erase(at, global.size());
      }
    }
    text += fmt::format("namespace case_{} {{\n{}\n}}\n#undef TC\n", i, source);
    text += fmt::format(
        "extern \"C\" void f{0}(const void* const* in, void* const* out, void* scratch) {{\n"
        "  if (case_{0}::launch_kernel(in, out, scratch, nullptr) != 0) abort();\n}}\n",
        i);
  }
  const std::string file = folder.write("kernels.cpp", text);
  const std::string library = folder.file("kernels.so");
  const char* compiler = std::getenv("CXX");
  const std::string said =
      complaint_of({compiler != nullptr ? compiler : "c++", "-std=c++20", "-O1", "-w", "-fPIC",
                    "-shared", "-I" + folder.path(), "-o", library, file},
                   folder.path());
  if (!said.empty()) throw Error(said);
  folder.release();  // the library's
  return CompiledLibrary(library);
}

std::string run_on_cpu(const CompiledLibrary& library, const CudaCase& made, std::size_t i) {
  const std::vector<interpreter::Elements> inputs = schedule::whole_inputs(made.kernel, i);
  RunJob job{.function = fmt::format("f{}", i),
             .inputs = {},
             .outputs = {},
             .scratch_bytes = made.scratch_bytes};
  std::vector<std::vector<std::byte>> bytes;
  for (std::size_t p = 0; p < inputs.size(); ++p) {
    job.inputs.push_back(made.kernel.op(made.kernel.parameters()[p]).shape);
    bytes.push_back(to_bytes(job.inputs[p], inputs[p]));
  }
  for (const ir::OpId id : made.kernel.outputs()) {
    job.outputs.push_back(made.kernel.op(id).shape);
  }
  try {
    const auto got = run_once(library.path(), job, bytes, kPatience);
    const auto expected = interpreter::evaluate(made.kernel, inputs);
    for (std::size_t o = 0; o < expected.size(); ++o) {
      if (from_bytes(job.outputs[o], got[o]) != expected[o]) return "wrong results";
    }
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::optional<std::string> compile_for_gpu(const std::string& source,
                                           const std::string& architecture) {
  const char* named = std::getenv("NVCC");
  std::string nvcc = named != nullptr ? named : "/usr/local/cuda/bin/nvcc";
  if (!std::filesystem::exists(nvcc)) return std::nullopt;
  TemporaryFolder folder;
  const std::string file = folder.write("kernel.cu", source);
  return complaint_of({nvcc, "-std=c++17", "-arch=" + architecture, "-cubin", "-o",
                       folder.file("kernel.cubin"), file},
                      folder.path());
}

}  // namespace tilecast::host

#include "tests/host/cuda_runner.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "host/child_process.h"
#include "host/run_kernels.h"
#include "tests/host/array_bytes.h"
#include "tests/schedule/random_schedules.h"
#include "tests/support/folders.h"
#include "tests/support/texts.h"

namespace tilecast::host {
namespace {

constexpr Seconds kPatience{300};
const std::string kCudaHeaders =
    "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_pipeline.h>\n"
    "#include <math.h>\n#include <mma.h>\n#include <string.h>\n";

// Runs the command; returns its output, or "" if its status is 0.
std::string complaint_of(std::vector<std::string> command, const std::string& folder) {
  ChildCommand child(std::move(command), folder, kPatience);
  while (child.read_some()) {
  }
  if (child.wait() == 0) return {};
  const std::string text = child.text();
  return text.empty() ? "it failed" : text;
}

// Compiles the text with the command, a compiler and its options. Throws Error with its output.
CompiledLibrary library_of(TemporaryFolder& folder, const std::string& file,
                           const std::string& text, std::vector<std::string> command) {
  const std::string library = folder.file("kernels.so");
  command.insert(command.end(), {"-o", library, folder.write(file, text)});
  const std::string said = complaint_of(std::move(command), folder.path());
  if (!said.empty()) throw Error(said);
  folder.release();  // the library owns it
  return CompiledLibrary(library);
}

// All cases in one text, each in a namespace; without one, names could clash with the stand-in or
// another case. `function_of` is the text that calls case i.
template <class FunctionOf>
std::string text_of(const std::vector<CudaCase>& cases, const FunctionOf& function_of) {
  std::string text;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string source = support::replaced_all(cases[i].source, "extern \"C\" ", "");
    text += fmt::format("namespace case_{} {{\n{}\n}}\n#undef TC\n{}", i, source, function_of(i));
  }
  return text;
}

std::string nvcc() {
  const char* named = std::getenv("NVCC");
  return named != nullptr ? named : "/usr/local/cuda/bin/nvcc";
}

struct CaseArrays {
  RunJob job;  // calls `function`
  std::vector<interpreter::Elements> elements;
  std::vector<std::vector<std::byte>> bytes;  // of the elements
};
CaseArrays arrays_of(const CudaCase& made, std::size_t i) {
  CaseArrays arrays{.job = {.function = fmt::format("f{}", i),
                            .inputs = {},
                            .outputs = {},
                            .scratch_bytes = made.scratch_bytes},
                    .elements = schedule::whole_inputs(made.kernel, i),
                    .bytes = {}};
  for (std::size_t p = 0; p < arrays.elements.size(); ++p) {
    arrays.job.inputs.push_back(made.kernel.op(made.kernel.parameters()[p]).shape);
    arrays.bytes.push_back(to_bytes(arrays.job.inputs[p], arrays.elements[p]));
  }
  for (const ir::OpId id : made.kernel.outputs()) {
    arrays.job.outputs.push_back(made.kernel.op(id).shape);
  }
  return arrays;
}

std::string complaint_about(const CudaCase& made, const CaseArrays& arrays,
                            const std::vector<std::vector<std::byte>>& got) {
  const auto expected = interpreter::evaluate(made.kernel, arrays.elements);
  for (std::size_t o = 0; o < expected.size(); ++o) {
    if (from_bytes(arrays.job.outputs[o], got[o]) != expected[o]) return "wrong results";
  }
  return {};
}

// "{64, 128}": the sizes in bytes of arrays with these shapes.
std::string byte_list(const std::vector<ir::Shape>& shapes) {
  std::string text;
  for (const ir::Shape& shape : shapes) text += fmt::format("{}, ", host_bytes(shape));
  return "{" + text + "}";
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
  text += text_of(cases, [](std::size_t i) {
    return fmt::format(
        "extern \"C\" void f{0}(const void* const* in, void* const* out, void* scratch) {{\n"
        "  if (case_{0}::launch_kernel(in, out, scratch, nullptr) != 0) abort();\n}}\n",
        i);
  });
  // The stand-in provides shared memory.
  text = support::replaced_all(
      text, "extern __shared__ __align__(128) unsigned char shared_memory[];", "");
  const char* compiler = std::getenv("CXX");
  return library_of(folder, "kernels.cpp", text,
                    {compiler != nullptr ? compiler : "c++", "-std=c++20", "-O1", "-w", "-fPIC",
                     "-shared", "-I" + folder.path()});
}

std::string run_on_cpu(const CompiledLibrary& library, const CudaCase& made, std::size_t i) {
  const CaseArrays arrays = arrays_of(made, i);
  try {
    return complaint_about(made, arrays,
                           run_once(library.path(), arrays.job, arrays.bytes, kPatience));
  } catch (const Error& error) {
    return error.what();
  }
}

std::optional<CompiledLibrary> compile_on_gpu(const std::vector<CudaCase>& cases) {
  if (!std::filesystem::exists(nvcc()) || !std::filesystem::exists("/dev/nvidiactl")) {
    return std::nullopt;
  }
  TemporaryFolder folder;
  std::string text = fmt::format("#include \"{}/tests/host/cuda_on_gpu.h\"\n{}",
                                 support::source_dir().string(), kCudaHeaders);
  text += text_of(cases, [&](std::size_t i) {
    const RunJob job = arrays_of(cases[i], i).job;
    return fmt::format(
        "extern \"C\" const char* f{0}(const void* const* in, void* const* out) {{\n"
        "  tilecast_test::HostArrays host{{in, out, {1}, {2}, {3}}};\n"
        "  return tilecast_test::OnGpu(host).run(case_{0}::launch_kernel);\n}}\n",
        i, byte_list(job.inputs), byte_list(job.outputs), job.scratch_bytes);
  });
  return library_of(
      folder, "kernels.cu", text,
      {nvcc(), "-std=c++17", "-arch=native", "-O3", "-shared", "-Xcompiler", "-fPIC"});
}

// Runs in this process, because a child of run_once() may not open the files that a driver needs.
std::string run_on_gpu(const CompiledLibrary& library, const CudaCase& made, std::size_t i) {
  const CaseArrays arrays = arrays_of(made, i);
  void* const opened = ::dlopen(library.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = opened != nullptr ? ::dlsym(opened, arrays.job.function.c_str()) : nullptr;
  if (found == nullptr) return ::dlerror();
  std::vector<const void*> in;
  for (const auto& bytes : arrays.bytes) in.push_back(bytes.data());
  std::vector<std::vector<std::byte>> got;
  for (const ir::Shape& shape : arrays.job.outputs) {
    got.emplace_back(static_cast<std::size_t>(host_bytes(shape)));
  }
  std::vector<void*> out;
  for (auto& bytes : got) out.push_back(bytes.data());
  const char* const wrong = reinterpret_cast<const char* (*)(const void* const*, void* const*)>(
      found)(in.data(), out.data());
  return wrong != nullptr ? wrong : complaint_about(made, arrays, got);
}

std::optional<std::string> compile_for_gpu(const std::vector<CudaCase>& cases,
                                           const std::string& architecture) {
  if (!std::filesystem::exists(nvcc())) return std::nullopt;
  TemporaryFolder folder;
  const std::string text = cases.size() == 1
                               ? cases.front().source
                               : kCudaHeaders + text_of(cases, [](std::size_t) { return ""; });
  const std::string file = folder.write("kernel.cu", text);
  return complaint_of({nvcc(), "-std=c++17", "-arch=" + architecture, "-cubin", "-o",
                       folder.file("kernel.cubin"), file},
                      folder.path());
}

}  // namespace tilecast::host

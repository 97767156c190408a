#include "host/cuda_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "base/math.h"
#include "host/c_function.h"
#include "host/c_loops.h"
#include "host/c_prelude.h"
#include "host/c_scalar.h"
#include "host/cuda_block.h"
#include "schedule/walk.h"

namespace tilecast::host {
namespace {

namespace loops = schedule;

constexpr std::int64_t kScratchAligned = 256;

// Splits the program into kernels; statements that share a block's buffer stay together.
std::vector<loops::Body> kernels_of(const loops::LoopProgram& program) {
  std::map<std::string, std::size_t> first;
  std::vector<std::size_t> joined(program.body.size());  // number of the statement it is joined to
  for (std::size_t i = 0; i < joined.size(); ++i) {
    joined[i] = i;
    std::set<std::string> carried;
    const loops::Body own{program.body[i]};
    loops::for_each_access(own, [&](const loops::Access& access, loops::Use) {
      if (program.buffer(access.buffer).scope != loops::Scope::kMain) carried.insert(access.buffer);
    });
    loops::for_each_statement(own, [&](const loops::Statement& statement) {
      const auto* sync = statement.get<loops::Sync>();
      if (sync != nullptr) carried.insert(sync->pipeline);
    });
    for (const std::string& name : carried) {
      const auto [entry, added] = first.emplace(name, i);
      if (added) continue;
      std::fill(joined.begin() + static_cast<std::ptrdiff_t>(entry->second),
                joined.begin() + static_cast<std::ptrdiff_t>(i) + 1, joined[entry->second]);
    }
  }
  std::vector<loops::Body> made;
  for (std::size_t i = 0; i < joined.size(); ++i) {
    if (i == 0 || joined[i] != joined[i - 1]) made.emplace_back();
    made.back().push_back(program.body[i]);
  }
  return made;
}

class FileWriter {
 public:
  FileWriter(const loops::LoopProgram& program, const loops::ThreadBlock& block,
             std::string function)
      : program_(program), block_(block), function_(std::move(function)) {}

  CudaKernel write() {
    check();
    for (const loops::Body& body : kernels_of(program_)) write_kernel(body);
    write_launch();
    const std::string text = out_.take();
    made_.source = cuda_prelude(text) + text;
    return std::move(made_);
  }

 private:
  void check() const {
    std::set<std::string> names;
    const auto add = [&](const std::string& name) {
      if (!names.insert(name).second) throw Refused{"two things are called " + name + " in CUDA"};
    };
    for (const loops::Buffer& buffer : program_.buffers) {
      if (!is_generated(buffer.dtype)) {
        throw Refused{fmt::format("type {} is not generated", ir::name(buffer.dtype))};
      }
      if (loops::elements(buffer) > std::numeric_limits<std::int32_t>::max()) {
        throw Refused{fmt::format("{} has more elements than 31 bits count", buffer.name)};
      }
      add(cuda_name(buffer.name));
    }
    for (const char* own :
         {"t", "m", "n", "p", "e", "warp", "lane", "inside", "element", "apart", "partial", "other",
          "thread_row", "thread_column", "warp_row", "warp_column", "shared_memory", "staging"}) {
      add(own);
    }
    constexpr int kMostDimensions = 8;
    for (int d = 0; d < kMostDimensions; ++d) {
      add(fmt::format("at{}", d));
      add(fmt::format("zero{}", d));
    }
    for (const auto& [variable, extent] : loops::extents_in(program_.body)) {
      add(c_name(variable));
    }
  }

  void write_kernel(const loops::Body& body) {
    std::vector<const loops::Loop*> grid;
    const loops::Body* block = &body;
    std::int64_t blocks = 1;
    while (block->size() == 1) {
      const auto* loop = (*block)[0].get<loops::Loop>();
      if (loop == nullptr || loop->kind != loops::LoopKind::kParallel) break;
      grid.push_back(loop);
      blocks *= loop->extent;
      block = &loop->body;
    }
    const loops::Body ordered = waits_first(without_single_loops(*block));
    const bool whole_grid = grid.empty() && is_plain_nest(ordered, blocks);
    BlockWriter writer(program_, ordered, block_);
    const std::string name = fmt::format(
        "{}{}", function_, made_.launches.empty() ? "" : fmt::format("_{}", made_.launches.size()));
    if (blocks > std::numeric_limits<std::int32_t>::max()) throw Refused{"a grid of 2^31 blocks"};
    made_.launches.push_back({name, blocks, block_.size(), writer.shared_bytes()});
    out_.line(fmt::format("// {} blocks of {} threads, {} bytes of shared memory", blocks,
                          block_.size(), writer.shared_bytes()));
    out_.open(fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({})",
                          block_.size(), name, parameters(body)));
    write_positions(out_, "blockIdx.x", grid);
    writer.write(out_, whole_grid);
    out_.close();
    out_.line("");
  }

  // Whether it is one nest without copies or registers, to be distributed over the whole grid.
  bool is_plain_nest(const loops::Body& body, std::int64_t& blocks) const {
    if (body.size() != 1) return false;
    const loops::SingleNest nest = loops::single_nest(body[0]);
    if (nest.assign == nullptr) return false;
    bool main = true;
    loops::for_each_access(body, [&](const loops::Access& access, loops::Use) {
      main = main && program_.buffer(access.buffer).scope == loops::Scope::kMain;
    });
    if (main) blocks = base::ceil_div(shared_nest(nest.loops, *nest.assign).count, block_.size());
    return main;
  }

  // The arrays in main memory that the statements use, in the program's order.
  std::vector<const loops::Buffer*> arrays(const loops::Body& body) const {
    std::set<std::string> used;
    loops::for_each_access(
        body, [&](const loops::Access& access, loops::Use) { used.insert(access.buffer); });
    std::vector<const loops::Buffer*> made;
    for (const loops::Buffer& buffer : program_.buffers) {
      if (buffer.scope == loops::Scope::kMain && used.contains(buffer.name))
        made.push_back(&buffer);
    }
    return made;
  }
  std::string parameters(const loops::Body& body) {
    std::string made;
    std::vector<std::string>& arguments = arguments_.emplace_back();
    for (const loops::Buffer* buffer : arrays(body)) {
      made += fmt::format("{}{}{}* __restrict__ {}", made.empty() ? "" : ", ",
                          buffer->role == loops::Role::kInput ? "const " : "",
                          cuda_type(buffer->dtype), cuda_name(buffer->name));
      arguments.push_back(buffer->name);
    }
    return made;
  }

  void write_launch() {
    out_.open(
        fmt::format("cudaError_t launch_{}(const void* const* in, void* const* out, void* "
                    "scratch, cudaStream_t stream)",
                    function_));
    std::map<std::string, std::string> places;
    std::size_t inputs = 0, outputs = 0;
    for (const loops::Buffer& buffer : program_.buffers) {
      if (buffer.scope != loops::Scope::kMain) continue;
      std::string& place = places[buffer.name];
      if (buffer.role == loops::Role::kInput) {
        place = fmt::format("in[{}]", inputs++);
      } else if (buffer.role == loops::Role::kOutput) {
        place = fmt::format("out[{}]", outputs++);
      } else {
        place = fmt::format("static_cast<char*>(scratch) + {}", made_.scratch_bytes);
        made_.scratch_bytes += base::round_up(
            loops::elements(buffer) * bytes_of_element(buffer.dtype), kScratchAligned);
      }
    }
    out_.line("(void)in, (void)out, (void)scratch;");
    for (std::size_t l = 0; l < made_.launches.size(); ++l) write_launch(l, places);
    out_.line("return cudaSuccess;");
    out_.close();
  }

  void write_launch(std::size_t l, const std::map<std::string, std::string>& places) {
    constexpr std::int64_t kUnasked = 48 << 10;  // bytes of shared memory without opting in
    const CudaLaunch& launch = made_.launches[l];
    out_.open("");
    std::string arguments;
    for (std::size_t a = 0; a < arguments_[l].size(); ++a) {
      const loops::Buffer& buffer = program_.buffer(arguments_[l][a]);
      const bool input = buffer.role == loops::Role::kInput;
      out_.line(fmt::format("{}void* a{} = {};", input ? "const " : "", a, places.at(buffer.name)));
      arguments += fmt::format("{}&a{}", a == 0 ? "" : ", ", a);
    }
    out_.line(fmt::format("void* arguments[] = {{{}}};", arguments));
    if (launch.shared_bytes > kUnasked) {
      out_.line(
          fmt::format("const cudaError_t allowed = cudaFuncSetAttribute({}, "
                      "cudaFuncAttributeMaxDynamicSharedMemorySize, {});",
                      launch.kernel, launch.shared_bytes));
      out_.line("if (allowed != cudaSuccess) return allowed;");
    }
    out_.line(
        fmt::format("const cudaError_t launched = cudaLaunchKernel({}, dim3({}), dim3({}), "
                    "arguments, {}, stream);",
                    launch.kernel, launch.blocks, launch.threads, launch.shared_bytes));
    out_.line("if (launched != cudaSuccess) return launched;");
    out_.close();
  }

  const loops::LoopProgram& program_;
  const loops::ThreadBlock& block_;
  const std::string function_;
  CudaKernel made_;
  std::vector<std::vector<std::string>> arguments_;  // array names, by launch
  Writer out_;
};

}  // namespace

std::variant<CudaKernel, Unsupported> cuda_of_loops(const loops::LoopProgram& program,
                                                    const loops::ThreadBlock& block,
                                                    const std::string& function) {
  try {
    return FileWriter(program, block, function).write();
  } catch (const Refused& refused) {
    return Unsupported{refused.reason};
  }
}

namespace {

constexpr std::string_view kCudaIncludes = R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <stdint.h>
using namespace nvcuda;
)";

constexpr std::string_view kCudaMacros = R"(#define TC static __device__ __forceinline__
#define _Bool bool
)";

// Replaces the conversions of c_prelude() by CUDA's, with its storage types.
constexpr std::string_view kCudaHalves =
    R"(TC float tc_from_bf16(__nv_bfloat16 x) { return __bfloat162float(x); }
TC __nv_bfloat16 tc_store_bf16(float x) { return __float2bfloat16_rn(x); }
TC float tc_round_bf16(float x) { return __bfloat162float(__float2bfloat16_rn(x)); }
TC float tc_from_f16(__half x) { return __half2float(x); }
TC __half tc_to_f16(float x) { return __float2half_rn(x); }
TC float tc_round_f16(float x) { return __half2float(__float2half_rn(x)); }
)";

}  // namespace

std::string cuda_prelude(const std::string& text) {
  static const std::regex halves("tc_(from|store|to|round)_b?f16"),
      others("tc_(?!(from|store|to|round)_b?f16)");
  const bool needs_halves = std::regex_search(text, halves);
  const bool needs_others = std::regex_search(text, others);
  std::string made(kCudaIncludes);
  if (needs_others) made += "#include <math.h>\n#include <string.h>\n";
  if (needs_halves || needs_others) made += kCudaMacros;
  if (needs_halves) made += kCudaHalves;
  if (needs_others) made += prelude_numbers() + std::string(prelude_math());
  return made + "\n";
}

}  // namespace tilecast::host

// Runs loop programs as CUDA on the CPU: their elements equal the kernel's, and GPU threads wait
// exactly where they must.
#include "host/cuda_loops.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "analytical/block_schedule.h"
#include "base/error.h"
#include "base/random.h"
#include "host/cuda_sync.h"
#include "hwdesc/device_yaml.h"
#include "ir/kernels/kernel_sketch.h"
#include "schedule/pipeline.h"
#include "schedule/text.h"
#include "schedule/tile_schedule.h"
#include "schedule/walk.h"
#include "tests/host/cuda_runner.h"
#include "tests/schedule/parse_loops.h"
#include "tests/schedule/random_schedules.h"
#include "tests/schedule/run_loops.h"

namespace tilecast::host {
namespace {

using ir::DType;
using ir::OpId;
using ::testing::HasSubstr;

constexpr schedule::TileTarget kGpu{.native = {.tiled = false}, .copies = {}, .warps = 4};

class RandomTile {
 public:
  explicit RandomTile(std::uint64_t seed) : random_(seed) {}

  // A product, with an op on its sums in every other case; sizes with and without remainders.
  CudaCase product() {
    const DType dtype = any({DType::kF32, DType::kF16, DType::kBF16});
    const std::int64_t m = size(), n = size(), k = size();
    ir::KernelSketch sketch("product", ir::Opcode::kFusion, {.tiled = false});
    const OpId a = sketch.row_major_parameter(dtype, {m, k});
    const OpId b = sketch.row_major_parameter(dtype, {k, n});
    OpId made = sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {m, n}, dtype);
    if (coin()) made = sketch.elementwise(ir::Opcode::kNegate, {made});
    const std::int64_t rows = any<std::int64_t>({16, 32, 64, 24});
    const std::int64_t columns = any<std::int64_t>({16, 32, 64, 40});
    return tiled(sketch.build({made}), fmt::format("out={}x{} kernel={}x{}", rows, columns,
                                                   any<std::int64_t>({16, 32, 64, 9}), columns));
  }
  CudaCase reduction() {
    const DType dtype = any({DType::kF32, DType::kBF16});
    ir::KernelSketch sketch("reduction", ir::Opcode::kFusion, {.tiled = false});
    const OpId x = sketch.row_major_parameter(dtype, {size(), 2 * size()});
    const ir::Opcode combine = any({ir::Opcode::kAdd, ir::Opcode::kMaximum});
    return tiled(sketch.build({sketch.reduce(x, combine, any<std::int64_t>({0, 1}))}),
                 fmt::format("out={}x{}", any<std::int64_t>({1, 4, 16, 48}),
                             any<std::int64_t>({8, 32, 128})));
  }
  CudaCase elementwise() {
    const DType dtype = any({DType::kF32, DType::kF16, DType::kBF16});
    ir::KernelSketch sketch("elementwise", ir::Opcode::kFusion, {.tiled = false});
    const OpId x = sketch.row_major_parameter(dtype, {size(), size()});
    const OpId y = sketch.row_major_parameter(dtype, sketch.shape(x).dims);
    const OpId sum = sketch.elementwise(ir::Opcode::kAdd, {x, y});
    return tiled(
        sketch.build({sketch.elementwise(ir::Opcode::kMaximum, {sum, x})}),
        fmt::format("out={}x{}", any<std::int64_t>({1, 8, 20}), any<std::int64_t>({16, 64, 100})));
  }

 private:
  template <class T>
  T any(std::initializer_list<T> of) {
    return of.begin()[base::draw(random_, of.size())];
  }
  bool coin() { return any({false, true}); }
  std::int64_t size() {
    return coin() ? 32 * any<std::int64_t>({1, 2, 4})
                  : 1 + static_cast<std::int64_t>(base::draw(random_, 130));
  }
  CudaCase tiled(ir::Kernel kernel, const std::string& tile) {
    const std::string written =
        fmt::format("{} stages={} warps={}", tile, any({1, 2, 3, 4}), any({1, 2, 4, 8}));
    const auto made = schedule::tiled_loops(kernel, analytical::parse_tile(written), kGpu);
    return {std::move(kernel), schedule::pipelined(made.program), made.block};
  }

  std::mt19937_64 random_;
};

// Cases must have a source; a missing one is a failure.
void expect_right(std::vector<CudaCase> cases) {
  for (CudaCase& made : cases) {
    ASSERT_EQ(make_source(made), "") << schedule::to_text(made.program);
  }
  const CompiledLibrary library = compile_on_cpu(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(run_on_cpu(library, cases[i], i), "")
        << schedule::to_text(cases[i].program) << cases[i].source;
  }
}

template <class Make>
void expect_all_right(const Make& make) {
  constexpr std::uint64_t kSeeds = 60, kAtOnce = 20;
  for (std::uint64_t first = 0; first < kSeeds; first += kAtOnce) {
    std::vector<CudaCase> cases;
    for (std::uint64_t seed = first; seed < first + kAtOnce; ++seed) {
      RandomTile random(seed);
      cases.push_back(make(random));
    }
    expect_right(std::move(cases));
  }
}

TEST(CudaLoops, TilesOfProductsComputeWhatTheKernelDoes) {
  expect_all_right([](RandomTile& random) { return random.product(); });
}
TEST(CudaLoops, TilesOfReductionsComputeWhatTheKernelDoes) {
  expect_all_right([](RandomTile& random) { return random.reduction(); });
}
TEST(CudaLoops, TilesOfElementwiseKernelsComputeWhatTheKernelDoes) {
  expect_all_right([](RandomTile& random) { return random.elementwise(); });
}

TEST(CudaLoops, RandomSchedulesComputeWhatTheKernelDoes) {
  constexpr std::uint64_t kSchedules = 120;
  std::vector<CudaCase> cases;
  std::map<std::string, int> refused;
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    schedule::RandomSchedule made = schedule::random_schedule(seed);
    CudaCase one{std::move(made.kernel), schedule::pipelined(made.program), {.warps = 2}};
    const std::string reason = make_source(one);
    if (reason.empty()) {
      cases.push_back(std::move(one));
    } else {
      ++refused[reason.substr(0, reason.find(' ', 24))];
    }
  }
  for (const auto& [reason, count] : refused)
    std::printf("%d refused: %s...\n", count, reason.c_str());
  // Unsupported: registers that several threads would have to read.
  EXPECT_GT(cases.size(), kSchedules / 3);
  expect_right(std::move(cases));
}

// No matrix unit supports them: every thread sums its own elements.
TEST(CudaLoops, ProductsOfTransposedOperandsComputeWhatTheKernelDoes) {
  std::vector<CudaCase> cases;
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    ir::KernelSketch sketch("transposed", ir::Opcode::kFusion, {.tiled = false});
    const OpId a = sketch.row_major_parameter(dtype, {40, 50});
    const OpId b = sketch.row_major_parameter(dtype, {30, 50});
    ir::Kernel kernel = sketch.build(
        {sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {1}}, {40, 30}, dtype)});
    const auto made = schedule::tiled_loops(
        kernel, analytical::parse_tile("out=16x16 kernel=16x16 stages=3 warps=4"), kGpu);
    EXPECT_THAT(made.refusals, testing::Contains(HasSubstr("multiply at")));
    cases.push_back({std::move(kernel), schedule::pipelined(made.program), made.block});
  }
  expect_right(std::move(cases));
}

// --- synchronisation of threads

CudaCase product(DType dtype, std::int64_t size, const std::string& tile) {
  ir::KernelSketch sketch("product", ir::Opcode::kFusion, {.tiled = false});
  const OpId a = sketch.row_major_parameter(dtype, {size, size});
  const OpId b = sketch.row_major_parameter(dtype, {size, size});
  ir::Kernel kernel = sketch.build(
      {sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {size, size}, dtype)});
  const auto made = schedule::tiled_loops(kernel, analytical::parse_tile(tile), kGpu);
  return {std::move(kernel), schedule::pipelined(made.program), made.block};
}
CudaCase row_sum(const std::string& tile) {
  ir::KernelSketch sketch("row_sum", ir::Opcode::kFusion, {.tiled = false});
  const OpId x = sketch.row_major_parameter(DType::kF32, {32, 512});
  ir::Kernel kernel = sketch.build({sketch.reduce(x, ir::Opcode::kAdd, 1)});
  const auto made = schedule::tiled_loops(kernel, analytical::parse_tile(tile), kGpu);
  return {std::move(kernel), schedule::pipelined(made.program), made.block};
}

std::vector<CudaCase> waiting_cases() {
  std::vector<CudaCase> made;
  made.push_back(product(DType::kBF16, 128, "out=64x32 kernel=32x32 stages=3 warps=4"));
  made.push_back(product(DType::kF16, 96, "out=32x32 kernel=32x32 stages=2 warps=2"));
  made.push_back(product(DType::kF16, 128, "out=32x32 kernel=32x32 stages=1 warps=4"));
  made.push_back(product(DType::kF32, 64, "out=32x32 kernel=16x32 stages=4 warps=2"));
  made.push_back(product(DType::kF32, 64, "out=32x32 kernel=9x32 stages=3 warps=2"));
  made.push_back(row_sum("out=4x64 stages=3 warps=4"));
  made.push_back(row_sum("out=4x64 stages=1 warps=4"));
  return made;
}

// One case for each occurrence of `what` in the text, without it or with it replaced by `by`.
std::vector<CudaCase> faulty(const CudaCase& whole, const std::string& what,
                             const std::string& by) {
  std::vector<CudaCase> made;
  for (std::size_t at = 0; (at = whole.source.find(what, at)) != std::string::npos; ++at) {
    made.push_back(whole);
    made.back().source.replace(at, what.size(), by);
  }
  return made;
}

void expect_caught(const std::vector<std::pair<std::string, std::string>>& faults,
                   std::size_t at_least) {
  std::vector<CudaCase> planted;
  for (CudaCase& whole : waiting_cases()) {
    ASSERT_EQ(make_source(whole), "");
    for (const auto& [what, by] : faults) {
      for (CudaCase& one : faulty(whole, what, by)) planted.push_back(std::move(one));
    }
  }
  EXPECT_GE(planted.size(), at_least);
  const CompiledLibrary library = compile_on_cpu(planted);
  for (std::size_t i = 0; i < planted.size(); ++i) {
    EXPECT_NE(run_on_cpu(library, planted[i], i), "") << planted[i].source;
  }
}

TEST(CudaLoops, WithoutFaultsTheCasesAreRight) {
  expect_right(waiting_cases());
}

// For these cases. In others a barrier may only guard data that the last step reads ahead and
// nobody uses.
TEST(CudaLoops, EveryBarrierIsNeeded) {
  expect_caught({{"__syncthreads();", ""}}, 10);
}

TEST(CudaLoops, EveryWaitIsNeeded) {
  std::vector<std::pair<std::string, std::string>> later;
  for (int n = 0; n < 3; ++n) {
    later.emplace_back(fmt::format("__pipeline_wait_prior({});", n),
                       fmt::format("__pipeline_wait_prior({});", n + 1));
  }
  expect_caught(later, 6);
}

TEST(CudaLoops, EveryCommitIsNeeded) {
  expect_caught({{"__pipeline_commit();", ""}}, 8);
}

TEST(CudaLoops, AStageTooFewIsCaught) {
  std::vector<CudaCase> planted;
  for (CudaCase& whole : waiting_cases()) {
    bool found = false;
    for (schedule::Buffer& buffer : whole.program.buffers) {
      if (buffer.stages < 2 || buffer.scope != schedule::Scope::kShared) continue;
      --buffer.stages;
      found = true;
      schedule::for_each_access(whole.program.body, [&](schedule::Access& access, schedule::Use) {
        if (access.buffer == buffer.name && access.slot) {
          *access.slot = *access.slot % buffer.stages;
        }
      });
    }
    if (!found) continue;
    ASSERT_EQ(make_source(whole), "");
    planted.push_back(std::move(whole));
  }
  ASSERT_GE(planted.size(), 4U);
  const CompiledLibrary library = compile_on_cpu(planted);
  for (std::size_t i = 0; i < planted.size(); ++i) {
    EXPECT_NE(run_on_cpu(library, planted[i], i), "") << planted[i].source;
  }
}

// --- the text

std::string source_of(CudaCase made) {
  EXPECT_EQ(make_source(made), "");
  return made.source;
}

TEST(CudaLoops, HalvesGoThroughMatrixUnitsAndOneBarrierAStep) {
  const std::string text =
      source_of(product(DType::kBF16, 512, "out=128x128 kernel=64x128 stages=3 warps=4"));
  EXPECT_THAT(text, HasSubstr("wmma::mma_sync"));
  EXPECT_THAT(text, HasSubstr("__pipeline_memcpy_async"));
  const std::string steps = text.substr(text.find("for (int ko = 0;"));
  const std::size_t barrier = steps.find("__syncthreads();");
  ASSERT_NE(barrier, std::string::npos);
  // The next one is after the loop, before the sums are passed through shared memory.
  EXPECT_GT(steps.find("__syncthreads();", barrier + 1), steps.rfind("wmma::mma_sync"));
}

TEST(CudaLoops, PipelinedLoopsWaitingFirstComputeTheSame) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const schedule::RandomSchedule made = schedule::random_schedule(seed);
    const auto inputs = schedule::whole_inputs(made.kernel, seed);
    schedule::LoopProgram program = schedule::pipelined(made.program);
    program.body = waits_first(without_single_loops(program.body));
    EXPECT_EQ(schedule::run_loops(program, inputs), interpreter::evaluate(made.kernel, inputs))
        << seed << "\n"
        << schedule::to_text(program);
  }
}

// The model counts the bytes of the operands' tiles; the text's rows have 16 bytes of padding.
TEST(CudaLoops, SharedMemoryIsTheModelsAndPadding) {
  constexpr std::int64_t kPadding = 16;  // bytes per row
  const hwdesc::Device device = hwdesc::load_device("a100_sxm_40gb");
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const std::int64_t stages : {1, 2, 3, 4}) {
      const std::int64_t rows = 64, columns = 128, depth = 32;
      const CudaCase made = product(dtype, 256,
                                    fmt::format("out={}x{} kernel={}x{} stages={} warps=4", rows,
                                                columns, depth, columns, stages));
      const auto cuda = cuda_of_loops(made.program, made.block, "kernel");
      ASSERT_TRUE(std::holds_alternative<CudaKernel>(cuda));
      const analytical::BlockSchedule block{.rows = rows,
                                            .columns = columns,
                                            .depth = depth,
                                            .stages = static_cast<double>(stages),
                                            .warps = 4,
                                            .operand_bytes = ir::bits(dtype) / 8.0};
      const double model = analytical::occupancy(block, device).shared_bytes;
      EXPECT_EQ(static_cast<double>(std::get<CudaKernel>(cuda).launches.at(0).shared_bytes),
                model - analytical::kReservedShared +
                    static_cast<double>(stages * kPadding * (rows + depth)));
    }
  }
}

TEST(CudaLoops, RefuseWithAReason) {
  EXPECT_THROW((void)product(DType::kF32, 64, "out=32x32 kernel=16x32 warps=33"), Error);
  CudaCase made = product(DType::kF32, 64, "out=32x32 kernel=16x32 warps=4");
  made.program.buffers[0].dtype = DType::kC64;
  EXPECT_THAT(make_source(made), HasSubstr("type c64 is not generated"));
  CudaCase mixed = product(DType::kF32, 64, "out=32x32 kernel=16x32 warps=4");
  mixed.program = schedule::parse_loops(base::SourceText("shifted.loops", R"(program p
  input main a f32[8]
  output main c f32[8]
  temporary register r f32[8]
{
  copy r[0] = a[0] size 8
  loop i < 8 {
    c[i] = add.f32(r[i], r[0])
  }
})"));
  EXPECT_THAT(make_source(mixed), HasSubstr("r is used at two places at once"));
  mixed.program = schedule::parse_loops(base::SourceText("named.loops", R"(program p
  input main a f32[8]
  output main c f32[8]
{
  loop lane < 8 {
    c[lane] = a[lane]
  }
})"));
  EXPECT_THAT(make_source(mixed), HasSubstr("two things are called lane"));
}

// Under compute-sanitizer (memcheck, racecheck) it checks even more.
TEST(CudaLoops, OnAGpuTheyComputeWhatTheKernelDoes) {
  constexpr std::uint64_t kSeeds = 12;
  std::vector<CudaCase> cases = waiting_cases();
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    RandomTile random(seed);
    cases.push_back(random.product());
    cases.push_back(random.reduction());
    cases.push_back(random.elementwise());
  }
  for (CudaCase& made : cases) ASSERT_EQ(make_source(made), "");
  const auto library = compile_on_gpu(cases);
  if (!library) GTEST_SKIP() << "no nvcc, or no GPU (/dev/nvidiactl)";
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(run_on_gpu(*library, cases[i], i), "")
        << schedule::to_text(cases[i].program) << cases[i].source;
  }
}

TEST(CudaLoops, NvccTakesTheText) {
  std::vector<CudaCase> cases = waiting_cases();
  RandomTile random(3);
  cases.push_back(random.elementwise());
  cases.push_back(random.reduction());
  for (CudaCase& made : cases) ASSERT_EQ(make_source(made), "");
  const std::pair<std::vector<CudaCase>, const char*> texts[] = {
      {{cases.front()}, "sm_80"}, {cases, "sm_80"}, {cases, "sm_90"}};
  for (const auto& [some, architecture] : texts) {
    const auto said = compile_for_gpu(some, architecture);
    if (!said) GTEST_SKIP() << "no nvcc: set NVCC, or install one in /usr/local/cuda";
    EXPECT_EQ(*said, "") << architecture;
  }
}

}  // namespace
}  // namespace tilecast::host

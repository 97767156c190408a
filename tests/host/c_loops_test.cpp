// Runs loop programs as C: their elements equal the kernel's, with and without stages.
#include "host/c_loops.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "analytical/iteration_space.h"
#include "host/compiled_library.h"
#include "host/run_kernels.h"
#include "ir/kernels/kernel_sketch.h"
#include "schedule/pipeline.h"
#include "schedule/text.h"
#include "schedule/tile_schedule.h"
#include "tests/host/array_bytes.h"
#include "tests/schedule/random_schedules.h"

namespace tilecast::host {
namespace {

using interpreter::Elements;

struct Case {
  ir::Kernel kernel;
  schedule::LoopProgram program;
};

// Compiled together; inputs are small integers, so that sums are exact.
void expect_right(const std::vector<Case>& cases) {
  std::string source(c_prelude());
  std::vector<CKernel> made;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto c = c_of_loops(cases[i].program, fmt::format("f{}", i));
    ASSERT_TRUE(std::holds_alternative<CKernel>(c)) << std::get<Unsupported>(c).reason;
    made.push_back(std::get<CKernel>(c));
    source += made.back().source;
  }
  const std::vector<Compilation> built = Compiler("-O1").compile(std::vector{source}, 1);
  ASSERT_TRUE(built[0].library) << built[0].error;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ir::Kernel& kernel = cases[i].kernel;
    const std::vector<Elements> inputs = schedule::whole_inputs(kernel, i);
    RunJob job{.function = made[i].function,
               .inputs = {},
               .outputs = {},
               .scratch_bytes = made[i].scratch_bytes};
    std::vector<std::vector<std::byte>> bytes;
    for (std::size_t p = 0; p < inputs.size(); ++p) {
      job.inputs.push_back(kernel.op(kernel.parameters()[p]).shape);
      bytes.push_back(to_bytes(job.inputs[p], inputs[p]));
    }
    for (const ir::OpId id : kernel.outputs()) job.outputs.push_back(kernel.op(id).shape);
    const auto got = run_once(built[0].library->path(), job, bytes);
    const std::vector<Elements> expected = interpreter::evaluate(kernel, inputs);
    for (std::size_t o = 0; o < expected.size(); ++o) {
      EXPECT_EQ(from_bytes(job.outputs[o], got[o]), expected[o])
          << i << "\n"
          << schedule::to_text(cases[i].program) << made[i].source;
    }
  }
}

TEST(CLoops, ComputeWhatTheKernelDoes) {
  constexpr std::uint64_t kSchedules = 100;
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    schedule::RandomSchedule made = schedule::random_schedule(seed);
    cases.push_back({std::move(made.kernel), std::move(made.program)});
    if (cases.size() < 50) continue;
    expect_right(cases);
    cases.clear();
  }
}

TEST(CLoops, ComputeConvolutionsByTheirTemplate) {
  constexpr std::uint64_t kSchedules = 50;
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    schedule::RandomSchedule made = schedule::random_convolution(seed);
    cases.push_back({std::move(made.kernel), std::move(made.program)});
  }
  expect_right(cases);
}

ir::Kernel product(std::int64_t m, std::int64_t n, std::int64_t k) {
  ir::KernelSketch sketch("product", ir::Opcode::kFusion, {.tiled = false});
  const ir::OpId a = sketch.row_major_parameter(ir::DType::kF32, {m, k});
  const ir::OpId b = sketch.row_major_parameter(ir::DType::kF32, {k, n});
  return sketch.build({sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {m, n},
                                  ir::DType::kF32)});
}

TEST(CLoops, TilesOfAProductPrefetchTheirStages) {
  std::vector<Case> cases;
  for (const char* tile : {"out=16x32 kernel=32x32 stages=1", "out=16x32 kernel=32x32 stages=3",
                           "out=64x96 kernel=64x96 stages=2", "out=24x40 kernel=24x40 stages=4"}) {
    ir::Kernel kernel = product(64, 96, 128);
    const auto tiled = schedule::tiled_loops(kernel, analytical::parse_tile(tile));
    cases.push_back({std::move(kernel), tiled.program});
  }
  expect_right(cases);
  const auto c = c_of_loops(cases[1].program, "f");
  EXPECT_THAT(std::get<CKernel>(c).source, testing::HasSubstr("__builtin_prefetch"));
  EXPECT_THAT(std::get<CKernel>(c).source, testing::HasSubstr("tc_mm_f(16, 32, 32"));
}

TEST(CLoops, RefuseWhatWaitsForBatches) {
  const ir::Kernel kernel = product(64, 96, 128);
  const auto tiled =
      schedule::tiled_loops(kernel, analytical::parse_tile("out=16x32 kernel=32x32 stages=3"));
  const auto c = c_of_loops(schedule::pipelined(tiled.program), "f");
  ASSERT_TRUE(std::holds_alternative<Unsupported>(c));
  EXPECT_THAT(std::get<Unsupported>(c).reason, testing::HasSubstr("before pipelining"));
}

}  // namespace
}  // namespace tilecast::host

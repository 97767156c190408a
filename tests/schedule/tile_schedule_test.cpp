// Tiles of thread blocks as loops: their results, their structure, and the steps they need.
#include "schedule/tile_schedule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/random.h"
#include "ir/kernels/kernel_sketch.h"
#include "schedule/from_kernel.h"
#include "schedule/pipeline.h"
#include "schedule/primitives.h"
#include "schedule/text.h"
#include "tests/schedule/random_schedules.h"
#include "tests/schedule/run_loops.h"
#include "tests/support/errors.h"

namespace tilecast::schedule {
namespace {

using ir::DType;
using ir::OpId;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr TileTarget kGpu{.native = {.tiled = false}, .copies = {}, .warps = 4};

ir::Kernel product(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, bool negated) {
  ir::KernelSketch sketch("product", ir::Opcode::kFusion, {.tiled = false});
  const OpId a = sketch.row_major_parameter(dtype, {m, k});
  const OpId b = sketch.row_major_parameter(dtype, {k, n});
  OpId made = sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {m, n}, dtype);
  if (negated) made = sketch.elementwise(ir::Opcode::kNegate, {made});
  return sketch.build({made});
}

template <class Step>
std::string message(const Step& step) {
  return support::error_of([&] { step(); }, "accepted");
}

TEST(BlockTiles, ComputeWhatTheKernelDoes) {
  std::mt19937_64 random(7);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(
                     base::draw(random, static_cast<std::uint64_t>(high - low + 1)));
  };
  for (int i = 0; i < 60; ++i) {
    const DType dtype = pick(0, 1) == 0 ? DType::kF32 : DType::kBF16;
    const ir::Kernel kernel = product(dtype, pick(1, 40), pick(1, 40), pick(1, 70), i % 2 == 0);
    const std::int64_t columns = 16 * pick(1, 2);
    const std::string tile =
        fmt::format("out={}x{} kernel={}x{} stages={} warps={}", 16 * pick(1, 2), columns,
                    16 * pick(1, 3), columns, pick(1, 4), 1 << pick(0, 2));
    const TiledLoops made = tiled_loops(kernel, analytical::parse_tile(tile), kGpu);
    const auto inputs = whole_inputs(kernel, static_cast<std::uint64_t>(i));
    const auto expected = interpreter::evaluate(kernel, inputs);
    EXPECT_EQ(run_loops(made.program, inputs), expected) << tile << to_text(made.program);
    const LoopProgram code = pipelined(made.program);
    EXPECT_EQ(run_loops(code, inputs), expected) << tile << to_text(code);
  }
}

TEST(BlockTiles, HaveTwoFusedLevelsAndOneStore) {
  const TiledLoops made =
      tiled_loops(product(DType::kBF16, 128, 128, 256, true),
                  analytical::parse_tile("out=64x64 kernel=32x64 stages=3 warps=4"), kGpu);
  EXPECT_TRUE(made.refusals.empty()) << made.refusals.front();
  EXPECT_EQ(made.block.size(), 4 * kWarp);
  const std::string text = to_text(made.program);
  EXPECT_THAT(text, HasSubstr("parallel io < 2 {\n    parallel jo < 2 {"));
  EXPECT_THAT(text, HasSubstr("parameter.0.shared bf16[64,32] strides 40,1 stages 3"));
  EXPECT_THAT(text, HasSubstr("parameter.0.register bf16[64,16] stages 2"));
  EXPECT_THAT(text, HasSubstr("size 64x64x16"));
  EXPECT_THAT(text, HasSubstr("negate.bf16(convert.bf16("));
  EXPECT_EQ(made.program.find("dot.2.sum"), nullptr);  // rounded when stored
  const std::vector<Pipeline> pipelines = analyse_pipelines(made.program);
  ASSERT_EQ(pipelines.size(), 2U);
  EXPECT_EQ(pipelines[1].outer, pipelines[0].name);
}

TEST(BlockTiles, MultiplyRaggedProductsOnOtherMachinesToo) {
  const TiledLoops made = tiled_loops(product(DType::kF32, 50, 70, 33, false),
                                      analytical::parse_tile("out=16x32 kernel=8x32 stages=2"));
  EXPECT_TRUE(made.refusals.empty()) << made.refusals.front();
  EXPECT_THAT(to_text(made.program), HasSubstr("size 16x32x8"));
  EXPECT_THAT(to_text(made.program), Not(HasSubstr("parallel")));
}

TEST(BlockTiles, ReadElementwiseKernelsInPlace) {
  ir::KernelSketch sketch("sum", ir::Opcode::kFusion, {.tiled = false});
  const OpId x = sketch.row_major_parameter(DType::kF32, {64, 64});
  const ir::Kernel kernel = sketch.build({sketch.elementwise(ir::Opcode::kNegate, {x})});
  const TiledLoops made =
      tiled_loops(kernel, analytical::parse_tile("out=8x32 stages=3 warps=2"), kGpu);
  EXPECT_THAT(to_text(made.program), Not(HasSubstr("shared")));
}

TEST(BlockSteps, FuseAConsumerOnlyWhereNothingElseUsesTheSums) {
  ir::KernelSketch sketch("two_uses", ir::Opcode::kFusion, {.tiled = false});
  const OpId a = sketch.row_major_parameter(DType::kF32, {16, 16});
  const OpId b = sketch.row_major_parameter(DType::kF32, {16, 16});
  const OpId c =
      sketch.dot(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {16, 16}, DType::kF32);
  const OpId x = sketch.elementwise(ir::Opcode::kNegate, {c});
  const OpId y = sketch.elementwise(ir::Opcode::kAbs, {c});
  const ir::Kernel kernel = sketch.build({x, y});
  Schedule schedule(read_loops(kernel));
  schedule.tile({{"i", 8}, {"j", 8}, {"k", 8}});
  schedule.cache_write("jo", "dot.2", Scope::kRegister);
  EXPECT_THAT(message([&] { schedule.fuse_consumer("dot.2"); }),
              HasSubstr("not written by one copy and read by one nest"));
  EXPECT_THAT(message([&] { schedule.fuse_consumer("negate.3"); }), HasSubstr("only a temporary"));
  EXPECT_THAT(message([&] { schedule.pad("dot.2", 4); }), HasSubstr("expected a matrix in shared"));
}

TEST(BlockSteps, MultiplyKeepsBoundsThatAreNoEdges) {
  Schedule schedule(parse_loops(base::SourceText("bounds.loops", R"(program p
  input main a f32[8,8]
  input main b f32[8,8]
  output main c f32[8,8]
  temporary shared s f32[8,8]
  temporary shared t f32[8,8]
  temporary register r f32[8,8]
{
  copy s[0, 0] = a[0, 0] size 8x8 padded
  copy t[0, 0] = b[0, 0] size 8x8 padded
  loop i < 8 { loop j < 8 { loop k < 8 {
    r[i, j] add= multiply.f32(s[i, k], t[k, j]) where 0 <= k < 5 } } }
  copy c[0, 0] = r[0, 0] size 8x8
})")));
  EXPECT_THAT(message([&] { schedule.multiply("i"); }), HasSubstr("a bound guards the sum"));
}

// --- assignment of results

TEST(ThreadLayout, WarpsHaveEqualSharesInWholeFragments) {
  for (int warps = 1; warps <= 16; ++warps) {
    for (const std::int64_t rows : {16, 48, 64, 128, 100}) {
      for (const std::int64_t columns : {16, 32, 96, 256}) {
        const auto grid = warps_over(rows, columns, 32, {.warps = warps, .threads = {}});
        if (!grid) continue;
        EXPECT_EQ(grid->rows * grid->columns, warps);
        EXPECT_EQ(rows % (grid->rows * kFragment), 0);
        EXPECT_EQ(columns % (grid->columns * kFragment), 0);
      }
    }
  }
  EXPECT_FALSE(warps_over(64, 64, 24, {.warps = 4, .threads = {}}));   // depth
  EXPECT_FALSE(warps_over(100, 64, 32, {.warps = 4, .threads = {}}));  // rows
  EXPECT_FALSE(warps_over(16, 16, 16, {.warps = 2, .threads = {}}));   // one fragment, two warps
  const auto square = warps_over(128, 128, 64, {.warps = 4, .threads = {}});
  ASSERT_TRUE(square);
  EXPECT_EQ(square->rows, square->columns);
}

TEST(ThreadLayout, ThreadsHaveEqualSharesAndAsManyAsPossibleHaveOne) {
  for (const std::int64_t rows : {1, 7, 24, 128}) {
    for (const std::int64_t columns : {1, 13, 40, 128}) {
      const ThreadBlock block{.warps = 4, .threads = {}};
      const Sharing grid = threads_over(rows, columns, block);
      EXPECT_EQ(rows % grid.rows, 0);
      EXPECT_EQ(columns % grid.columns, 0);
      EXPECT_LE(grid.rows * grid.columns, block.size());
    }
  }
  EXPECT_EQ(threads_over(128, 128, {.warps = 4, .threads = {16, 8}}).rows, 16);
  EXPECT_THAT(message([] {
                (void)threads_over(100, 128, {.warps = 4, .threads = {16, 8}});
              }),
              HasSubstr("16x8 threads have no equal shares of 100x128"));
}

TEST(ThreadLayout, BlocksAreAsTheTileSays) {
  EXPECT_EQ(thread_block({}, 4).warps, 4);
  EXPECT_EQ(
      thread_block({.output = {}, .kernel = {}, .input = {}, .stages = 0, .warps = 8}, 4).warps, 8);
  analytical::TileConfig told;
  told.threads = {16, 16};
  EXPECT_EQ(thread_block(told, 4).warps, 8);
  told.warps = 2;
  EXPECT_THAT(message([&] { (void)thread_block(told, 4); }), HasSubstr("256 threads do not fit 2"));
}

}  // namespace
}  // namespace tilecast::schedule

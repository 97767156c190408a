// Tiles of thread blocks as loops: their results, their structure, and the steps they need.
#include "schedule/tile_schedule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "base/error.h"
#include "base/random.h"
#include "ir/kernels/kernel_sketch.h"
#include "schedule/convolution.h"
#include "schedule/from_kernel.h"
#include "schedule/pipeline.h"
#include "schedule/primitives.h"
#include "schedule/text.h"
#include "schedule/thread_layout.h"
#include "schedule/walk.h"
#include "tests/schedule/parse_loops.h"
#include "tests/schedule/random_schedules.h"
#include "tests/schedule/run_loops.h"
#include "tests/support/conv_dims.h"
#include "tests/support/errors.h"

namespace tilecast::schedule {
namespace {

using interpreter::Elements;
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

// --- Convolutions by their template: the paper's space, and loops that compute them.

struct Layer {
  std::int64_t size, in, out, taps, stride;
  std::size_t published;  // configurations: Tomczak et al., arXiv:1904.11876, Table 1
};

ir::Kernel convolution(const Layer& layer) {
  const std::int64_t pad = layer.taps / 2;
  const std::int64_t result = (layer.size + 2 * pad - layer.taps) / layer.stride + 1;
  ir::KernelSketch sketch("layer", ir::Opcode::kConvolution, {.tiled = false});
  const auto x = sketch.row_major_parameter(ir::DType::kF32, {1, layer.size, layer.size, layer.in});
  const auto w =
      sketch.row_major_parameter(ir::DType::kF32, {layer.taps, layer.taps, layer.in, layer.out});
  ir::ConvAttrs attrs;
  const ir::WindowDim window{
      .size = layer.taps, .stride = layer.stride, .pad_low = pad, .pad_high = pad};
  attrs.window = {window, window};
  attrs.dims = support::channels_last();
  return sketch.build(
      {sketch.convolution(x, w, attrs, {1, result, result, layer.out}, ir::DType::kF32)});
}

// Layers of ResNet-18 (He et al., CVPR 2016, Table 1). The published table has 28 pixels for C9 to
// C12; only the network's own 14 and 7 give the numbers of configurations next to them.
TEST(ConvolutionTiles, AreAsManyAsPublishedForResNet18) {
  constexpr Layer kLayers[] = {
      {224, 3, 64, 7, 2, 252},   {56, 64, 64, 3, 1, 784},   {56, 64, 64, 1, 1, 784},
      {56, 64, 128, 3, 2, 672},  {56, 64, 128, 1, 2, 672},  {28, 128, 128, 3, 1, 768},
      {28, 128, 256, 3, 2, 576}, {28, 128, 256, 1, 2, 576}, {14, 256, 256, 3, 1, 648},
      {14, 256, 512, 3, 2, 360}, {14, 256, 512, 1, 2, 360}, {7, 512, 512, 3, 1, 400}};
  std::size_t all = 0;
  for (const Layer& layer : kLayers) {
    EXPECT_EQ(convolution_tiles(convolution(layer)).size(), layer.published) << layer.size;
    all += layer.published;
  }
  EXPECT_EQ(all, 6852U);
}

TEST(ConvolutionLoops, ComputeWhatTheKernelDoes) {
  constexpr std::uint64_t kSchedules = 1000;
  int staged = 0;
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    const RandomSchedule made = random_convolution(seed);
    const std::vector<Elements> inputs = whole_inputs(made.kernel, seed);
    const std::vector<Elements> expected = interpreter::evaluate(made.kernel, inputs);
    staged += made.pipelined;
    for (const LoopProgram& program : {made.program, pipelined(made.program)}) {
      try {
        ASSERT_EQ(run_loops(program, inputs), expected) << seed << to_text(program);
      } catch (const Error& error) {
        FAIL() << seed << ": " << error.what() << "\n" << to_text(program);
      }
    }
    ASSERT_EQ(to_text(parse_loops(base::SourceText("x", to_text(made.program)))),
              to_text(made.program));
  }
  EXPECT_GT(staged, static_cast<int>(kSchedules) / 4);
}

TEST(ConvolutionLoops, NeedNoGuardOncePacked) {
  const ir::Kernel kernel = convolution({8, 4, 8, 3, 1, 0});
  for (analytical::TileConfig tile : convolution_tiles(kernel)) {
    const LoopProgram program = convolution_loops(kernel, tile).program;
    for_each_statement(program.body, [](const Statement& statement) {
      const auto* assign = statement.get<Assign>();
      const bool sums = assign != nullptr && assign->combine;
      EXPECT_TRUE(!sums || assign->where.empty());
    });
  }
}

TEST(ConvolutionLoops, RefuseOtherTilesWithTheReason) {
  const ir::Kernel kernel = convolution({8, 4, 8, 3, 1, 0});
  const auto refusal = [&](const std::string& tile) -> std::string {
    return support::error_of(
        [&] { return convolution_loops(kernel, analytical::parse_tile(tile)); }, "accepted");
  };
  EXPECT_EQ(refusal("out=1x1x4x8 kernel=3x3x2x8 unroll=3"), "accepted");
  EXPECT_THAT(refusal("out=1x1x3x8 kernel=3x3x4x8"), HasSubstr("3 does not divide 8"));
  EXPECT_THAT(refusal("out=1x1x4x8 kernel=3x1x4x8"), HasSubstr("the whole window"));
  EXPECT_THAT(refusal("out=1x1x4x8 kernel=3x3x4x8 unroll=2"), HasSubstr("the window's 3 columns"));
  EXPECT_THAT(refusal("out=1x1x4x8 kernel=3x3x4x8 order=1x2x3x3"), HasSubstr("no dimension 4"));
  EXPECT_THAT(refusal("out=1x4x8 kernel=3x3x4x8"), HasSubstr("has 3 dimensions"));
}

constexpr const char* kReader = R"(program p
  input main x f32[4,6]
  output main y f32[4,6]
{
  loop i < 4 {
    loop j < 6 {
      y[i, j] = x[i, j]
    }
  }
}
)";

TEST(Pack, PutsPiecesOutsideAndReadsThem) {
  Schedule schedule(parse_loops(base::SourceText("p", kReader)));
  schedule.split("j", 3);
  EXPECT_EQ(schedule.pack("x", {{1, 3}, {0}, {1, 3, true}}), "x.packed");
  const std::string text = to_text(schedule.program());
  EXPECT_THAT(text, HasSubstr("temporary main x.packed f32[2,4,3]"));
  EXPECT_THAT(text, HasSubstr("y[i, ji + 3 * jo] = x.packed[jo, i, ji]"));
}

TEST(Pack, RefusesWhatIsNoLayout) {
  const auto refusal = [](const std::vector<LayoutDim>& layout) -> std::string {
    Schedule schedule(parse_loops(base::SourceText("p", kReader)));
    const std::string before = to_text(schedule.program());
    try {
      schedule.pack("x", layout);
      return "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(to_text(schedule.program()), before);
      return error.what();
    }
  };
  EXPECT_THAT(refusal({{0}}), HasSubstr("dimension 1 has to be there once"));
  EXPECT_THAT(refusal({{0}, {1, 4}, {1, 4, true}}), HasSubstr("no whole pieces of 4"));
  EXPECT_THAT(refusal({{0}, {1}, {2}}), HasSubstr("no dimension 2"));
}

// Simplification does not change the value of an index, for any parts and ranges.
TEST(Index, SimplifiedHasTheSameValues) {
  std::mt19937_64 random(1);
  const auto pick = [&](std::uint64_t most) {
    return static_cast<std::int64_t>(base::draw(random, most + 1));
  };
  for (int trial = 0; trial < 3000; ++trial) {
    const Extents extents{{"a", 1 + pick(5)}, {"b", 1 + pick(5)}};
    Index index = Index::of("a") * (pick(8) - 4) + Index::of("b") * (pick(8) - 4) + (pick(20) - 10);
    for (int depth = 0; depth < 2; ++depth) {
      const std::int64_t by = 1 + pick(6);
      index = pick(1) == 0 ? index / by : index % by;
      index = index * (1 + pick(3)) + Index::of("a");
    }
    const Index simple = index.simplified(extents);
    for (std::int64_t a = 0; a < extents.at("a"); ++a) {
      for (std::int64_t b = 0; b < extents.at("b"); ++b) {
        ASSERT_EQ(simple.value({{"a", a}, {"b", b}}), index.value({{"a", a}, {"b", b}}))
            << index.text() << " as " << simple.text();
      }
    }
  }
}
}  // namespace
}  // namespace tilecast::schedule

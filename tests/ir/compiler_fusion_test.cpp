// What XLA does before and after it fuses, and how its GPU compiler fuses differently.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/fusion/fusion.h"
#include "ir/memory/carry_copies.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "ir/verify/verifier.h"

namespace tilecast::ir {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr FusionOptions kGpu{.compiler = Compiler::kXlaGpu};

Module parsed(const std::string& text) {
  return parse_hlo(base::SourceText("test.hlo", "HloModule m\n" + text));
}

Module fused(const std::string& text, const FusionOptions& options) {
  Module module = fuse(parsed(text), options);
  verify(module);
  return module;
}

// Opcodes of the kernels, in order, without ops that are free; those of a fusion as "add+negate".
std::vector<std::string> kernels(const Module& module) {
  std::vector<std::string> all;
  const Program program = make_program(module);
  for (const ScheduledKernel& scheduled : program.kernels()) {
    std::multiset<std::string> inside;
    for (const Op& op : scheduled.kernel.ops()) {
      if (op_class(op.opcode) != OpClass::kFree) inside.emplace(name(op.opcode));
    }
    std::string joined;
    for (const std::string& each : inside) joined += (joined.empty() ? "" : "+") + each;
    all.push_back(joined);
  }
  return all;
}

const std::string kRegions = R"(
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
most { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b) }
)";

// The softmax along the last of the dimensions `rows` and `columns`, as JAX writes it.
std::string softmax(int rows, int columns) {
  const std::string x = "f32[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
  const std::string r = "f32[" + std::to_string(rows) + "]";
  const std::string one = "f32[" + std::to_string(rows) + ",1]";
  return kRegions + "ENTRY main { x = " + x + " parameter(0)\n low = f32[] constant(-inf)\n" +
         " top = " + r + " reduce(x, low), dimensions={1}, to_apply=most\n lows = " + r +
         " broadcast(low), dimensions={}\n bound = " + r + " maximum(lows, top)\n column = " + one +
         " broadcast(bound), dimensions={0}\n flat = " + r + " reshape(column)\n tops = " + x +
         " broadcast(flat), dimensions={0}\n d = " + x + " subtract(x, tops)\n e = " + x +
         " exponential(d)\n z = f32[] constant(0)\n s = " + r +
         " reduce(e, z), dimensions={1}, to_apply=sum\n sums = " + x +
         " broadcast(s), dimensions={0}\n ROOT p = " + x + " divide(e, sums) }";
}

TEST(GpuFusion, ASoftmaxPassesOverItsRowsOnce) {
  const std::string text = softmax(64, 128);
  const Module gpu = fused(text, kGpu);
  EXPECT_EQ(kernels(gpu).size(), 1U) << print_hlo(gpu);
  EXPECT_EQ(kernels(fused(text, {})).size(), 3U);
  // It reads x and writes p, nothing else.
  const Program program = make_program(gpu);
  EXPECT_EQ(program.kernels().front().kernel.work().bytes_accessed, 2 * 64 * 128 * 4);
}

TEST(GpuFusion, ARowThatIsTooLongIsPassedOverAgain) {
  const auto count = [](std::int64_t longest) {
    FusionOptions options = kGpu;
    options.max_row = longest;
    return kernels(fused(softmax(64, 128), options)).size();
  };
  EXPECT_EQ(count(128), 1U);
  EXPECT_GT(count(127), 1U);
}

// Rows less their mean, over the root of their variance; `more` may use the mean m and variance v.
std::string normalised(const std::string& more) {
  return kRegions + R"(
ENTRY main { x = f32[64,128] parameter(0)
  z = f32[] constant(0)
  n = f32[] constant(128)
  ns = f32[64] broadcast(n), dimensions={}
  total = f32[64] reduce(x, z), dimensions={1}, to_apply=sum
  m = f32[64] divide(total, ns)
  ms = f32[64,128] broadcast(m), dimensions={0}
  d = f32[64,128] subtract(x, ms)
  squares = f32[64,128] multiply(d, d)
  all = f32[64] reduce(squares, z), dimensions={1}, to_apply=sum
  v = f32[64] divide(all, ns))" +
         more + R"(
  root = f32[64] rsqrt(scale)
  roots = f32[64,128] broadcast(root), dimensions={0}
  ROOT r = f32[64,128] multiply(d, roots) })";
}

TEST(GpuFusion, ReductionsOfRowsFollowEachOtherInAKernel) {
  const std::string eps = "\n e = f32[] constant(1e-5)\n es = f32[64] broadcast(e), dimensions={}";
  const Module gpu = fused(normalised(eps + "\n scale = f32[64] add(v, es)"), kGpu);
  EXPECT_EQ(kernels(gpu).size(), 1U) << print_hlo(gpu);
  EXPECT_GT(kernels(fused(normalised("\n scale = f32[64] add(v, m)"), kGpu)).size(), 1U)
      << "two rows meet before they reach the elements";
}

TEST(GpuFusion, KernelsWithReductionsSayHowTheyAreWritten) {
  const auto code = [](const std::string& text) {
    return make_program(fused(text, kGpu)).kernels().front().kernel.gpu_code();
  };
  const auto rows = code(softmax(64, 129));
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->emitter, GpuCode::Emitter::kTriton);
  EXPECT_EQ(rows->tile, (Dims{8, 129}));  // 2,048 elements if a row counts as 256
  EXPECT_EQ(rows->warps, 4);
  const std::string sum_of = " z = f32[] constant(0)\n ROOT s = f32[64] reduce(";
  const auto alone = code(kRegions + "ENTRY main { x = f32[64,128] parameter(0)\n" + sum_of +
                          "x, z), dimensions={1}, to_apply=sum }");
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->emitter, GpuCode::Emitter::kHero);
  EXPECT_FALSE(make_program(fused(softmax(64, 128), {})).kernels().back().kernel.gpu_code());
}

TEST(GpuFusion, OnlyMinorDimensionsAreRows) {
  const std::string text = kRegions + R"(
ENTRY main { x = f32[64,128] parameter(0)
  e = f32[64,128] exponential(x)
  z = f32[] constant(0)
  s = f32[128] reduce(e, z), dimensions={0}, to_apply=sum
  sums = f32[64,128] broadcast(s), dimensions={1}
  ROOT p = f32[64,128] divide(e, sums) })";
  EXPECT_EQ(kernels(fused(text, kGpu)).size(), 2U);
}

TEST(GpuFusion, AProductTakesWhatIsLightAndNothingElse) {
  const std::string text = R"(
ENTRY main { x = f32[32,64] parameter(0)
  w = bf16[64,16] parameter(1)
  bias = f32[16] parameter(2)
  other = f32[32,16] parameter(3)
  heavy = f32[32,64] tanh(x)
  wide = f32[64,16] convert(w)
  d = f32[32,16] dot(heavy, wide), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[32,16] broadcast(bias), dimensions={1}
  s = f32[32,16] add(d, b)
  ROOT r = f32[32,16] )";
  EXPECT_THAT(kernels(fused(text + "negate(s) }", kGpu)),
              ElementsAre("tanh", "convert+dot", "add+broadcast+negate"));
  EXPECT_THAT(kernels(fused(text + "multiply(s, other) }", kGpu)),
              ElementsAre("tanh", "convert+dot", "add+broadcast+multiply"));
  EXPECT_THAT(kernels(fused(text + "maximum(s, b) }", kGpu)).size(), 2U);
}

TEST(GpuFusion, AConvolutionStandsAlone) {
  const std::string text = R"(
ENTRY main { x = bf16[2,16,16,8] parameter(0)
  w = f32[1,1,8,8] parameter(1)
  k = bf16[1,1,8,8] convert(w)
  c = bf16[2,16,16,8] convolution(x, k), window={size=1x1}, dim_labels=b01f_01io->b01f
  z = bf16[] constant(0)
  zs = bf16[2,16,16,8] broadcast(z), dimensions={}
  ROOT r = bf16[2,16,16,8] maximum(c, zs) })";
  EXPECT_EQ(kernels(fused(text, {})).size(), 1U);
  EXPECT_THAT(kernels(fused(text, kGpu)), Contains("convolution"));
  EXPECT_THAT(kernels(fused(text, kGpu)), Contains(HasSubstr("maximum")));
}

TEST(GpuFusion, SlicesAreReadWhereTheyAreUsed) {
  const std::string text = R"(
ENTRY main { x = f32[64,64] parameter(0)
  y = f32[32,64] parameter(1)
  s = f32[32,64] slice(x), slice={[0:64:2], [0:64]}
  t = f32[64,32] transpose(s), dimensions={1,0}
  a = f32[64,32] exponential(t)
  b = f32[32,64] multiply(s, y)
  ROOT r = (f32[64,32], f32[32,64]) tuple(a, b) })";
  EXPECT_THAT(kernels(fused(text, kGpu)),
              UnorderedElementsAre("exponential+slice+transpose", "multiply+slice"));
}

constexpr FusionOptions kTpu{.windows = true};

TEST(TpuFusion, APassOfASoftmaxComputesItsExponentialsAnew) {
  const auto exponentials = [](const FusionOptions& options) {
    std::vector<bool> in;
    for (const std::string& kernel : kernels(fused(softmax(64, 128), options))) {
      in.push_back(kernel.find("exponential") != std::string::npos);
    }
    return in;
  };
  EXPECT_THAT(exponentials(kTpu), ElementsAre(false, true, true)) << "maximum, sum, quotients";
  EXPECT_THAT(exponentials({}), ElementsAre(false, true, false)) << "which reads them";
}

TEST(TpuFusion, ProductsMakeTheirOperands) {
  const std::string text = R"(
ENTRY main { x = f32[32,64] parameter(0)
  v = f32[64,16] parameter(1)
  w = f32[64,16] parameter(2)
  h = f32[32,64] tanh(x)
  a = f32[32,16] dot(h, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[32,16] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (f32[32,16], f32[32,16]) tuple(a, b) })";
  EXPECT_THAT(kernels(fused(text, kTpu)), ElementsAre("dot+tanh", "dot+tanh"));
  EXPECT_THAT(kernels(fused(text, {})), ElementsAre("tanh", "dot", "dot"));
}

TEST(TpuFusion, WhatPicksElementsReadsThemFromArrays) {
  const auto of = [](const std::string& pick, const std::string& shape) {
    return kernels(fused("ENTRY main { x = f32[64,64] parameter(0)\n i = s32[] parameter(1)\n"
                         " z = f32[] constant(0)\n e = f32[64,64] exponential(x)\n p = " +
                             shape + pick + "\n ROOT r = " + shape + " negate(p) }",
                         kTpu))
        .size();
  };
  EXPECT_EQ(of(" slice(e), slice={[0:64:2], [0:64]}", "f32[32,64]"), 2U);
  EXPECT_EQ(of(" slice(e), slice={[0:32], [0:64]}", "f32[32,64]"), 1U)
      << "one window after another";
  EXPECT_EQ(of(" dynamic-slice(e, i, i), dynamic_slice_sizes={32,64}", "f32[32,64]"), 2U);
  EXPECT_EQ(of(" pad(e, z), padding=0_8x0_0", "f32[72,64]"), 2U);
  EXPECT_EQ(of(" pad(e, z), padding=0_0_1x0_0", "f32[127,64]"), 3U) << "fused with nothing";
}

// A convolution of each feature by itself, or of all, between two of single points.
TEST(TpuFusion, AConvolutionOfEachFeatureSharesAKernelWithAProduct) {
  const auto of = [](int groups, bool first) {
    FusionOptions options = kTpu;
    options.depthwise_first = first;
    const std::string filter = groups == 1 ? "8" : "1";
    return kernels(
        fused("ENTRY main { x = f32[2,16,16,8] parameter(0)\n"
              " v = f32[1,1,8,8] parameter(1)\n w = f32[1,1,8,32] parameter(2)\n"
              " f = f32[3,3," +
                  filter +
                  ",8] parameter(3)\n"
                  " a = f32[2,16,16,8] convolution(x, v), window={size=1x1}, "
                  "dim_labels=b01f_01io->b01f\n"
                  " d = f32[2,16,16,8] convolution(a, f), window={size=3x3 pad=1_1x1_1}, "
                  "dim_labels=b01f_01io->b01f, feature_group_count=" +
                  std::to_string(groups) +
                  "\n t = f32[2,16,16,8] tanh(d)\n ROOT p = f32[2,16,16,32] "
                  "convolution(t, w), window={size=1x1}, dim_labels=b01f_01io->b01f }",
              options));
  };
  EXPECT_THAT(of(8, true), ElementsAre("convolution", "convolution+convolution+tanh"));
  EXPECT_THAT(of(8, false), ElementsAre("convolution+convolution", "convolution+tanh"));
  EXPECT_THAT(of(1, true), ElementsAre("convolution", "convolution", "convolution+tanh"));
  EXPECT_THAT(of(1, false), ElementsAre("convolution", "convolution", "convolution+tanh"));
}

TEST(BlockScans, OnlyLongSumsAreWrittenInBlocks) {
  const auto of = [](const std::string& size, const std::string& window) {
    return kernels(with_block_scans(parsed(
                       kRegions + "ENTRY main { x = f32[16," + size +
                       "] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[16," + size +
                       "] reduce-window(x, z), window={size=" + window + "}, to_apply=sum }")))
        .size();
  };
  EXPECT_EQ(of("128", "1x128 pad=0_0x127_0"), 1U);
  EXPECT_EQ(of("512", "1x3 pad=0_0x1_1"), 1U) << "a window that moves";
  // Reshape and copy; blocks, their ends (a slice, reshaped), the sums of these, all but the
  // last; spread, added; copy and reshape.
  EXPECT_EQ(of("512", "1x512 pad=0_0x511_0"), 11U);
}

// What a library reads as it lies, and what it does not.
TEST(LibraryOperands, BatchDimensionsComeFirst) {
  const auto transposes = [](const std::string& lhs, const std::string& dims) {
    const Module module = with_library_operands(parsed(
        "ENTRY main { x = f32[" + lhs + "] parameter(0)\n y = f32[4,8,64,16] parameter(1)\n" +
        " ROOT d = f32[4,8,32,16] dot(x, y), " + dims +
        ", rhs_batch_dims={0,1}, rhs_contracting_dims={2} }"));
    verify(module);
    return std::ranges::count_if(
        module.entry_computation().instructions,
        [](const Instruction& op) { return op.opcode == Opcode::kTranspose; });
  };
  EXPECT_EQ(transposes("4,8,32,64", "lhs_batch_dims={0,1}, lhs_contracting_dims={3}"), 0);
  EXPECT_EQ(transposes("4,8,64,32", "lhs_batch_dims={0,1}, lhs_contracting_dims={2}"), 0);
  EXPECT_EQ(transposes("4,32,8,64", "lhs_batch_dims={0,2}, lhs_contracting_dims={3}"), 1);
  EXPECT_EQ(transposes("32,64,4,8", "lhs_batch_dims={2,3}, lhs_contracting_dims={1}"), 1);
}

TEST(LibraryOperands, FiltersAreByOutputFeature) {
  const Module module = with_library_operands(parsed(R"(
ENTRY main { x = f32[2,16,16,8] parameter(0)
  w = f32[3,3,8,32] parameter(1)
  ROOT c = f32[2,14,14,32] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f })"));
  verify(module);
  const Instruction& root = module.entry_computation().root_instruction();
  EXPECT_EQ(root.as<ConvAttrs>().dims.text, "b01f_o01i->b01f");
  const Instruction& filter = module.entry_computation().at(root.operands[1]);
  EXPECT_EQ(filter.opcode, Opcode::kTranspose);
  EXPECT_THAT(filter.shape.dims, ElementsAre(32, 3, 3, 8));
  const auto flops = [](const Module& of) {
    return make_program(of).kernels().back().kernel.work().flops;
  };
  EXPECT_EQ(flops(module), 2.0F * 14 * 14 * 32 * 2 * 3 * 3 * 8);
}

TEST(InlineCalls, AFunctionIsPartOfItsCallers) {
  const Module module = with_calls_inlined(parsed(R"(
twice { a = f32[64] parameter(0)
  ROOT t = f32[64] add(a, a) }
both { p = f32[64] parameter(0)
  q = f32[64] parameter(1)
  u = f32[64] call(p), to_apply=twice
  v = f32[64] call(q), to_apply=twice
  ROOT r = (f32[64], f32[64]) tuple(v, u) }
ENTRY main { x = f32[64] parameter(0)
  y = f32[64] negate(x)
  c = (f32[64], f32[64]) call(x, y), to_apply=both
  first = f32[64] get-tuple-element(c), index=0
  second = f32[64] get-tuple-element(c), index=1
  ROOT d = f32[64] subtract(first, second) })"));
  verify(module);
  EXPECT_EQ(module.computations.size(), 1U);
  EXPECT_THAT(kernels(module), UnorderedElementsAre("negate", "add", "add", "subtract"));
  const Computation& entry = module.entry_computation();
  const Instruction& root = entry.root_instruction();  // (-x + -x) - (x + x)
  const auto operand_of = [&](std::size_t side) {
    return entry.at(root.operands[side]).operands[0];
  };
  EXPECT_EQ(entry.at(operand_of(0)).opcode, Opcode::kNegate);
  EXPECT_EQ(entry.at(operand_of(1)).opcode, Opcode::kParameter);
}

// A chain of functions that call the one before twice: 2^40 additions, if all were written out.
TEST(InlineCalls, DoublingsEndBeforeTheyFillTheMemory) {
  std::string text = "f0 { a = f32[] parameter(0)\n ROOT t = f32[] add(a, a) }\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string before = "f" + std::to_string(i - 1), own = "f" + std::to_string(i);
    text += own + " { a = f32[] parameter(0)\n b = f32[] call(a), to_apply=" + before +
            "\n ROOT t = f32[] call(b), to_apply=" + before + " }\n";
  }
  text += "ENTRY main { x = f32[] parameter(0)\n ROOT r = f32[] call(x), to_apply=f40 }";
  const Module module = with_calls_inlined(parsed(text));
  verify(module);
  EXPECT_LE(module.entry_computation().instructions.size(), std::size_t{1} << 20);
}

// Copies in the body of a loop whose state is an index and two arrays.
int copies_of(const std::string& body, const std::string& results) {
  const std::string state = "(s32[], f32[64], f32[64])";
  const Module module = with_carry_copies(parsed(R"(
body { s = )" + state + R"( parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  y = f32[64] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
)" + body + "\n ROOT t = " + state + " tuple(next, " +
                                                 results + R"() }
more { s = )" + state + R"( parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY main { s = )" + state + " parameter(0)\n ROOT w = " +
                                                 state + " while(s), condition=more, body=body }"));
  verify(module);
  int copies = 0;
  for (const Computation& computation : module.computations) {
    for (const Instruction& op : computation.instructions) copies += op.opcode == Opcode::kCopy;
  }
  return copies;
}

TEST(CarryCopies, AreMadeWhereTheNewValueCannotLieOverTheOld) {
  EXPECT_EQ(copies_of("", "x, y"), 0) << "unchanged";
  EXPECT_EQ(copies_of("", "y, x"), 2) << "exchanged";
  EXPECT_EQ(copies_of(" a = f32[64] negate(x)", "a, y"), 0) << "written where it was read";
  EXPECT_EQ(copies_of(" a = f32[64] reverse(x), dimensions={0}", "a, y"), 1) << "read elsewhere";
  EXPECT_EQ(copies_of(" a = f32[64] add(x, y)\n b = f32[64] multiply(a, x)", "a, b"), 1)
      << "b needs the old x and the new";
  EXPECT_EQ(copies_of(" a = f32[64] add(x, y)\n b = f32[64] negate(x)", "a, b"), 0)
      << "b can be computed first";
}

TEST(XlaCpu, LibrariesComputeProductsAndReductionsAlone) {
  const std::string text = R"(
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[64,64] parameter(0)
  w = f32[64,64] parameter(1)
  n = f32[64,64] negate(x)
  d = f32[64,64] dot(n, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64,64] tanh(d)
  u = f32[64,64] add(t, w)
  zero = f32[] constant(0)
  r = f32[64] reduce(u, zero), dimensions={1}, to_apply=sum
  b = f32[64,64] broadcast(r), dimensions={0}
  ROOT m = f32[64,64] multiply(b, w)
})";
  EXPECT_THAT(kernels(fused(text, {.compiler = Compiler::kXlaCpu})),
              ElementsAre("negate", "dot", "add+reduce+tanh", "broadcast+multiply"));
}

TEST(XlaCpu, ALoopHasOneResult) {
  const std::string text = R"(
ENTRY e {
  x = f32[64] parameter(0)
  a = f32[64] exponential(x)
  b = f32[64] log(x)
  ROOT t = (f32[64], f32[64]) tuple(a, b)
})";
  EXPECT_THAT(kernels(fused(text, {.compiler = Compiler::kXlaCpu})),
              ElementsAre("exponential", "log"));
}

}  // namespace
}  // namespace tilecast::ir

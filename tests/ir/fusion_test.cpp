#include "ir/fusion/fusion.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "ir/verify/verifier.h"

namespace tilecast::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

Module fused(const std::string& text, const FusionOptions& options = {}) {
  Module module = fuse(parse_hlo(base::SourceText("test.hlo", text)), options);
  verify(module);
  return module;
}

// Opcodes of the fused module's kernels; for a fusion, its sorted interior ops, "add+negate".
std::vector<std::string> kernels(const Module& module) {
  std::vector<std::string> all;
  const Program program = make_program(module);
  for (const ScheduledKernel& scheduled : program.kernels()) {
    std::vector<std::string> inside;
    for (const Op& op : scheduled.kernel.ops()) {
      if (op_class(op.opcode) != OpClass::kFree) inside.emplace_back(name(op.opcode));
    }
    std::sort(inside.begin(), inside.end());
    std::string joined;
    for (const std::string& each : inside) joined += (joined.empty() ? "" : "+") + each;
    all.push_back(joined);
  }
  return all;
}

const std::string kSum = R"(HloModule m
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
)";

TEST(Fusion, AChainOfElementwiseOpsIsOneKernel) {
  EXPECT_THAT(kernels(fused(R"(
HloModule m
ENTRY main { x = f32[64] parameter(0)
  a = f32[64] exponential(x)
  b = f32[64] negate(a)
  ROOT c = f32[64] multiply(b, x) })")),
              ElementsAre("exponential+multiply+negate"));
}

TEST(Fusion, BroadcastsOfConstantsGoWhereTheyAreUsed) {
  EXPECT_THAT(kernels(fused(R"(
HloModule m
ENTRY main { x = f32[64] parameter(0)
  y = f32[64] parameter(1)
  c = f32[] constant(3)
  b = f32[64] broadcast(c), dimensions={}
  p = f32[64] add(x, b)
  q = f32[64] multiply(y, b)
  s = (f32[64], f32[64]) custom-call(p, q), custom_call_target="opaque"
  ROOT r = f32[64] get-tuple-element(s), index=0 })")),
              UnorderedElementsAre("add+broadcast", "broadcast+multiply", "custom-call"));
}

TEST(Fusion, ADotTakesItsPrologueAndItsEpilogue) {
  const Module module = fused(R"(
HloModule m
ENTRY main { x = f32[32,64] parameter(0)
  w = bf16[64,16] parameter(1)
  bias = f32[16] parameter(2)
  wide = f32[64,16] convert(w)
  d = f32[32,16] dot(x, wide), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[32,16] broadcast(bias), dimensions={1}
  s = f32[32,16] add(d, b)
  z = f32[] constant(0)
  zeros = f32[32,16] broadcast(z), dimensions={}
  ROOT r = f32[32,16] maximum(s, zeros) })");
  EXPECT_THAT(kernels(module), ElementsAre("add+broadcast+broadcast+convert+dot+maximum"));
  const Instruction& root = module.entry_computation().root_instruction();
  EXPECT_EQ(root.as<FusionAttrs>().kind, FusionKind::kOutput);
}

TEST(Fusion, TwoDotsAreNeverInOneKernel) {
  EXPECT_THAT(kernels(fused(R"(
HloModule m
ENTRY main { x = f32[32,32] parameter(0)
  a = f32[32,32] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[32,32] negate(a)
  b = f32[32,32] dot(e, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[32,32] abs(b) })")),
              ElementsAre("dot", "abs+dot+negate"));
}

// Both products read the scaled bf16 value: storing its f32 product does not pay off.
TEST(Fusion, AKernelStoresTheNarrowTypeAndItsReadersScaleIt) {
  const Module module = fused(R"(
HloModule m
ENTRY main { a = bf16[64,64] parameter(0)
  b = bf16[64,64] parameter(1)
  wide = f32[64,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  half = f32[] constant(0.5)
  halves = f32[64,64] broadcast(half), dimensions={}
  scaled = f32[64,64] multiply(wide, halves)
  narrow = bf16[64,64] convert(scaled)
  again = bf16[64,64] multiply(narrow, a)
  d = bf16[64,64] dot(again, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = bf16[64,64] dot(b, again), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT both = (bf16[64,64], bf16[64,64]) tuple(d, e) })");
  EXPECT_THAT(kernels(module), UnorderedElementsAre("broadcast+convert+dot+multiply",
                                                    "dot+multiply", "dot+multiply"));
}

TEST(Fusion, ADivisionIsStoredAsTheNarrowTypeThatADotReads) {
  EXPECT_THAT(kernels(fused(R"(
HloModule m
ENTRY main { x = f32[64,64] parameter(0)
  y = f32[64,64] parameter(1)
  z = bf16[64,64] parameter(2)
  share = f32[64,64] divide(x, y)
  narrow = bf16[64,64] convert(share)
  ROOT d = bf16[64,64] dot(narrow, z), lhs_contracting_dims={1}, rhs_contracting_dims={0} })")),
              UnorderedElementsAre("convert+divide", "dot"));
}

TEST(Fusion, AnExpensiveOpIsNotRecomputedInADot) {
  EXPECT_THAT(kernels(fused(R"(
HloModule m
ENTRY main { x = f32[32,32] parameter(0)
  w = f32[32,32] parameter(1)
  e = f32[32,32] exponential(x)
  ROOT b = f32[32,32] dot(e, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} })")),
              ElementsAre("exponential", "dot"));
}

TEST(Fusion, AReductionTakesItsProducersAndItsEpilogue) {
  EXPECT_THAT(kernels(fused(kSum + R"(
ENTRY main { x = f32[64,32] parameter(0)
  q = f32[64,32] multiply(x, x)
  z = f32[] constant(0)
  r = f32[64] reduce(q, z), dimensions={1}, to_apply=sum
  n = f32[] constant(32)
  ns = f32[64] broadcast(n), dimensions={}
  ROOT mean = f32[64] divide(r, ns) })")),
              ElementsAre("broadcast+divide+multiply+reduce"));
}

TEST(Fusion, AReductionIsNotRecomputedForABroadcast) {
  EXPECT_THAT(kernels(fused(kSum + R"(
ENTRY main { x = f32[64,32] parameter(0)
  e = f32[64,32] exponential(x)
  z = f32[] constant(0)
  r = f32[64] reduce(e, z), dimensions={1}, to_apply=sum
  b = f32[64,32] broadcast(r), dimensions={0}
  ROOT s = f32[64,32] divide(e, b) })")),
              ElementsAre("exponential+reduce", "broadcast+divide"));
}

TEST(Fusion, ReductionsOfTheSameArrayAreOneKernel) {
  const Module module = fused(kSum + R"(
ENTRY main { x = f32[64,32] parameter(0)
  z = f32[] constant(0)
  q = f32[64,32] multiply(x, x)
  a = f32[32] reduce(x, z), dimensions={0}, to_apply=sum
  b = f32[32] reduce(q, z), dimensions={0}, to_apply=sum
  ROOT t = (f32[32], f32[32]) tuple(a, b) })");
  EXPECT_THAT(kernels(module), ElementsAre("multiply+reduce+reduce"));
}

TEST(Fusion, AConvolutionsStatisticsAreTakenWhileItIsWritten) {
  const Module module = fused(kSum + R"(
ENTRY main { x = f32[2,8,8,16] parameter(0)
  w = f32[3,3,16,32] parameter(1)
  y = f32[2,8,8,32] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  z = f32[] constant(0)
  s = f32[32] reduce(y, z), dimensions={0,1,2}, to_apply=sum
  ROOT t = (f32[2,8,8,32], f32[32]) tuple(y, s) })");
  EXPECT_THAT(kernels(module), ElementsAre("convolution+reduce"));
}

TEST(Fusion, AnUpdateInPlaceStaysInPlace) {
  const Module module = fused(R"(
HloModule m
ENTRY main { buffer = f32[64,128] parameter(0)
  x = f32[1,128] parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  moved = f32[64,128] negate(buffer)
  u = f32[1,128] exponential(x)
  ROOT d = f32[64,128] dynamic-update-slice(moved, u, i, z) })");
  EXPECT_THAT(kernels(module), UnorderedElementsAre("negate", "dynamic-update-slice+exponential"));
}

TEST(Fusion, AKernelDoesNotReadTheBufferItUpdates) {
  const Module module = fused(R"(
HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY main { buffer = f32[64,128] parameter(0)
  i = s32[] parameter(1)
  z = s32[] constant(0)
  last = f32[1,128] slice(buffer), slice={[63:64], [0:128]}
  ROOT d = f32[64,128] dynamic-update-slice(buffer, last, i, z) })");
  EXPECT_THAT(kernels(module), ElementsAre("slice", "dynamic-update-slice"));
}

TEST(Fusion, LeavesCollectivesAndCustomCallsAlone) {
  EXPECT_THAT(kernels(fused(kSum + R"(
ENTRY main { x = f32[64] parameter(0)
  a = f32[64] negate(x)
  r = f32[64] all-reduce(a), replica_groups={}, to_apply=sum
  ROOT c = f32[64] custom-call(r), custom_call_target="opaque" })")),
              ElementsAre("negate", "all-reduce", "custom-call"));
}

TEST(Fusion, DropsDeadCodeAndReshapesThatDoNothing) {
  EXPECT_THAT(kernels(fused(R"(
HloModule m
ENTRY main { x = f32[64,1,8] parameter(0)
  dead = f32[64,1,8] exponential(x)
  same = f32[64,1,8] reshape(x)
  flat = f32[64,8] reshape(same)
  ROOT n = f32[64,8] negate(flat) })")),
              ElementsAre("negate"));
}

TEST(Fusion, FusesInsideLoopBodies) {
  const Module module = fused(R"(
HloModule m
body { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[8] get-tuple-element(s), index=1
  a = f32[8] exponential(v)
  b = f32[8] negate(a)
  one = s32[] constant(1)
  n = s32[] add(i, one)
  ROOT t = (s32[], f32[8]) tuple(n, b) }
cond { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY main { z = s32[] constant(0)
  x = f32[8] parameter(0)
  t = (s32[], f32[8]) tuple(z, x)
  ROOT w = (s32[], f32[8]) while(t), condition=cond, body=body })");
  EXPECT_THAT(kernels(module), UnorderedElementsAre("exponential+negate", "add", "compare"));
  const Program program = make_program(module);
  for (const ScheduledKernel& kernel : program.kernels()) {
    EXPECT_EQ(kernel.multiplicity, 9) << "the loop's trip count survives fusing";
  }
}

TEST(Fusion, RespectsItsLimits) {
  std::string text =
      "HloModule m\nENTRY main { x = f32[64] parameter(0)\n v0 = f32[64] negate(x)\n";
  constexpr int kOps = 100;
  for (int i = 1; i < kOps; ++i) {
    text += " v" + std::to_string(i) + " = f32[64] negate(v" + std::to_string(i - 1) + ")\n";
  }
  text += " ROOT r = f32[64] negate(v99) }";
  EXPECT_EQ(kernels(fused(text)).size(), 1U);
  const Module limited = fused(text, {.max_ops = 10});
  EXPECT_GE(kernels(limited).size(), static_cast<std::size_t>(kOps / 10));
}

TEST(Fusion, OptimisedModulesAreRecognised) {
  const auto parse = [](const std::string& text) {
    return parse_hlo(base::SourceText("test.hlo", text));
  };
  EXPECT_FALSE(is_optimised(parse("HloModule m\nENTRY e { ROOT x = f32[8]{0} parameter(0) }")));
  EXPECT_TRUE(
      is_optimised(parse("HloModule m\nENTRY e { x = f32[8]{0:T(256)} parameter(0)\n"
                         " ROOT y = f32[8]{0:T(256)} negate(x) }")));
}

// Levels of neighbour sums, as in scans and stencils: without a limit the expression of an element
// doubles with each level.
TEST(Fusion, NoExpressionStandsInAKernelMoreThanFifteenTimes) {
  constexpr int kLevels = 12;
  constexpr std::int64_t kFirst = 1 << 14;
  std::string text =
      "HloModule m\nENTRY main { v0 = f32[" + std::to_string(kFirst) + "] parameter(0)\n";
  std::int64_t size = kFirst;
  for (int level = 1; level <= kLevels; ++level) {
    const std::string before = "v" + std::to_string(level - 1), n = std::to_string(level);
    const std::string half = "f32[" + std::to_string(size / 2) + "]";
    const std::string end = std::to_string(size);
    text += " e" + n + " = " + half + " slice(" + before + "), slice={[0:" + end + ":2]}\n o" + n +
            " = " + half + " slice(" + before + "), slice={[1:" + end + ":2]}\n" +
            (level == kLevels ? " ROOT v" : " v") + n + " = " + half + " add(e" + n + ", o" + n +
            ")\n";
    size /= 2;
  }
  const std::size_t made = kernels(fused(text + " }")).size();
  constexpr std::size_t kLevelsOfOne = 4;  // sums that occur 1, 2, 4 and 8 times
  EXPECT_EQ(made, kLevels / kLevelsOfOne);
}

std::string update_of(const std::string& header, const std::string& result) {
  return "HloModule m" + header +
         "\nENTRY main { c = f32[64,128] parameter(0)\n n = f32[1,128] "
         "parameter(1)\n z = s32[] constant(0)\n u = f32[64,128] dynamic-update-slice(c, n, z, "
         "z)\n" +
         result + " }";
}

TEST(Fusion, UpdatesOfWhatTheCallerKeepsAreCopiesFirst) {
  const auto copies = [](const std::string& text) {
    const std::vector<std::string> made = kernels(fused(text));
    return std::ranges::count_if(
        made, [](const std::string& kernel) { return kernel.find("copy") != std::string::npos; });
  };
  const std::string donated = ", input_output_alias={ {}: (0, {}, may-alias) }";
  const std::string root = " ROOT r = f32[64,128] bitcast(u)";
  EXPECT_EQ(copies(update_of("", root)), 1);
  EXPECT_EQ(copies(update_of(donated, root)), 0);
  // A reader of both the old and the new array needs both.
  EXPECT_EQ(
      copies(update_of(donated, " s = f32[64,128] add(u, c)\n ROOT r = f32[64,128] negate(s)")), 1);
  // A reader of the old array can run before.
  const std::string both = ", input_output_alias={ {0}: (0, {}, may-alias) }";
  EXPECT_EQ(
      copies(update_of(
          both, " s = f32[64,128] negate(c)\n ROOT r = (f32[64,128], f32[64,128]) tuple(u, s)")),
      0);
}

}  // namespace
}  // namespace tilecast::ir

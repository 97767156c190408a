#include "ir/fusion/fusion.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "ir/counts/trip_count.h"
#include "ir/graph_order.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"
#include "ir/verify/verifier.h"
#include "tests/support/folders.h"

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

TEST(GraphOrder, DepthFirstFinishesTargetsBeforeSourcesInTheOrderOfTheEdges) {
  const DepthFirst walk = depth_first(4, {{0, 2}, {0, 1}, {1, 3}, {2, 3}});
  EXPECT_THAT(walk.post_order, ElementsAre(3, 2, 1, 0));
  EXPECT_FALSE(walk.on_cycle.has_value());
}

TEST(GraphOrder, DepthFirstReachesOnlyWhatTheRootsLeadTo) {
  const std::vector<std::uint32_t> roots = {2, 0};
  EXPECT_THAT(depth_first(5, {{0, 1}, {2, 1}, {3, 4}}, roots).post_order, ElementsAre(1, 2, 0));
}

TEST(GraphOrder, NamesAVertexOfACycleNotOneBehindIt) {
  const DepthFirst walk = depth_first(4, {{0, 1}, {1, 2}, {2, 1}, {2, 3}});
  EXPECT_EQ(walk.on_cycle, 1U);
}

TEST(GraphOrder, AChainOfAMillionDoesNotExhaustTheStack) {
  constexpr std::uint32_t kLength = 1'000'000;
  std::vector<GraphEdge> edges;
  for (std::uint32_t i = 0; i + 1 < kLength; ++i) edges.emplace_back(i, i + 1);
  EXPECT_EQ(depth_first(kLength, edges).post_order.front(), kLength - 1);
}

TEST(GraphOrder, TakesTheSmallestKeyThatMayComeNext) {
  const std::vector<std::uint32_t> keys = {3, 2, 1, 0};
  EXPECT_THAT(order_by_key(keys, {}), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(order_by_key(keys, {{0, 3}, {0, 3}}), ElementsAre(2, 1, 0, 3));
}

TEST(GraphOrder, LeavesOutWhatACycleHoldsBack) {
  const std::vector<std::uint32_t> keys = {0, 1, 2};
  EXPECT_THAT(order_by_key(keys, {{1, 2}, {2, 1}}), ElementsAre(0));
}

// A loop over (counter, limit, payload).
struct Loop {
  std::string init = "0", limit = "10", step = "3";
  std::string update = "add(i, step)";
  std::string compare = "compare(i, n), direction=LT";
  std::string passed_limit = "n";
  std::string config;
};

std::string text_of(const Loop& loop) {
  return "HloModule m\n"
         "body {\n  s = (s32[], s32[], f32[8]) parameter(0)\n"
         "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] get-tuple-element(s), index=1\n"
         "  x = f32[8] get-tuple-element(s), index=2\n  step = s32[] constant(" +
         loop.step + ")\n  j = s32[] " + loop.update + "\n  n2 = s32[] add(n, step)\n" +
         "  ROOT r = (s32[], s32[], f32[8]) tuple(j, " + loop.passed_limit + ", x)\n}\n" +
         "cond {\n  s = (s32[], s32[], f32[8]) parameter(0)\n"
         "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] get-tuple-element(s), index=1\n"
         "  k = s32[] constant(" +
         loop.limit + ")\n  ROOT c = pred[] " + loop.compare + "\n}\n" +
         "ENTRY e {\n  x = f32[8] parameter(0)\n  i0 = s32[] constant(" + loop.init +
         ")\n  n0 = s32[] constant(" + loop.limit +
         ")\n  t = (s32[], s32[], f32[8]) tuple(i0, n0, x)\n"
         "  ROOT w = (s32[], s32[], f32[8]) while(t), condition=cond, body=body" +
         loop.config + "\n}\n";
}

std::optional<std::int64_t> count(const Loop& loop) {
  const Module module = parse_hlo(base::SourceText("loop.hlo", text_of(loop)));
  const Computation& caller = module.entry_computation();
  return trip_count(module, caller, caller.root_instruction());
}

// Runs the loop and counts its iterations.
std::int64_t run(std::int64_t init, std::int64_t limit, std::int64_t step,
                 bool (*keep_going)(std::int64_t, std::int64_t)) {
  std::int64_t n = 0;
  for (std::int64_t i = init; keep_going(i, limit); i += step) ++n;
  return n;
}

Loop numbers(std::int64_t init, std::int64_t limit, std::int64_t step, const std::string& dir) {
  Loop loop;
  loop.init = std::to_string(init);
  loop.limit = std::to_string(limit);
  loop.step = std::to_string(step);
  loop.compare = "compare(i, n), direction=" + dir;
  return loop;
}

TEST(TripCount, OfACountedLoopIsHowOftenItRuns) {
  for (std::int64_t init : {-4, 0, 7, 10, 12}) {
    for (std::int64_t step : {1, 2, 5}) {
      EXPECT_EQ(count(numbers(init, 10, step, "LT")),
                run(init, 10, step, [](auto a, auto b) { return a < b; }));
      EXPECT_EQ(count(numbers(init, 10, step, "LE")),
                run(init, 10, step, [](auto a, auto b) { return a <= b; }));
      EXPECT_EQ(count(numbers(init, -6, -step, "GT")),
                run(init, -6, -step, [](auto a, auto b) { return a > b; }));
      EXPECT_EQ(count(numbers(init, -6, -step, "GE")),
                run(init, -6, -step, [](auto a, auto b) { return a >= b; }));
    }
  }
  EXPECT_EQ(count(numbers(1, 13, 4, "NE")), 3);
  EXPECT_EQ(count(numbers(1, 1, 4, "NE")), 0);
}

TEST(TripCount, OfALoopThatDoesNotEndIsUnknown) {
  EXPECT_EQ(count(numbers(0, 10, -1, "LT")), std::nullopt);
  EXPECT_EQ(count(numbers(0, 10, 0, "LT")), std::nullopt);
  EXPECT_EQ(count(numbers(0, 10, 3, "NE")), std::nullopt);
}

TEST(TripCount, OfAnyScalarCodeIsWhatItsStepsGive) {
  Loop loop;
  loop.init = "1";
  loop.limit = "100";
  for (const auto& [update, counted] :
       std::vector<std::pair<std::string, std::int64_t (*)(std::int64_t)>>{
           {"add(i, i)", [](std::int64_t i) { return 2 * i; }},
           {"multiply(i, step)", [](std::int64_t i) { return 3 * i; }},
           {"shift-left(i, step)", [](std::int64_t i) { return i << 3; }}}) {
    loop.update = update;
    std::int64_t steps = 0;
    for (std::int64_t i = 1; i < 100; i = counted(i)) ++steps;
    EXPECT_EQ(count(loop), steps) << update;
  }
  // Division by the step, then a limit that moves towards the counter.
  loop.init = "1000";
  loop.limit = "0";
  loop.compare = "compare(i, n), direction=GT";
  loop.update = "divide(i, step)";
  EXPECT_EQ(count(loop), 7);  // 1000 333 111 37 12 4 1
  loop = numbers(0, 1000, -3, "LT");
  loop.update = "subtract(i, step)";
  loop.passed_limit = "n2";
  EXPECT_EQ(count(loop), (1000 + 5) / 6);
}

TEST(TripCount, IsNeverThatOfACounterThatWraps) {
  EXPECT_EQ(count(numbers(0, 2147483647, 1, "LE")), std::nullopt);
  EXPECT_EQ(count(numbers(2147483600, -2147483600, 1, "NE")), 96);  // overflows s32
  EXPECT_EQ(count(numbers(0, 2147483647, 2, "LT")), std::nullopt);  // 2^31 - 2, then negative
  EXPECT_EQ(count(numbers(0, 2147483646, 2, "LT")), 2147483646 / 2);
}

TEST(TripCount, OfAConditionThatIsKnownInPartIsUnknown) {
  Loop loop = numbers(0, 10, 1, "LT");
  loop.compare = "and(b, e)\n";
  const std::string text = text_of(loop);
  const auto with = [&](const std::string& other) {
    std::string changed = text;
    changed.replace(changed.find("  ROOT c"), 0,
                    "  b = pred[] compare(i, n), direction=LT\n  e = pred[] " + other + "\n");
    const Module module = parse_hlo(base::SourceText("loop.hlo", changed));
    return trip_count(module, module.entry_computation(),
                      module.entry_computation().root_instruction());
  };
  EXPECT_EQ(with("constant(true)"), 10);
  EXPECT_EQ(with("constant(false)"), 0);
  EXPECT_EQ(with("custom-call(), custom_call_target=\"goes_on\""), std::nullopt);
}

// A chain of operands of maximum length needs no deeper recursion than a short one.
TEST(TripCount, OfCodeThatIsTooLongIsUnknown) {
  const auto with_chain = [](int length) {
    std::string chain = "j0 = s32[] add(i, step)\n";
    for (int k = 0; k < length; ++k) {
      chain += "  j" + std::to_string(k + 1) + " = s32[] maximum(j" + std::to_string(k) + ", i)\n";
    }
    std::string text = text_of({});
    text.replace(text.find("j = s32[] add(i, step)"), 22,
                 chain + "  j = s32[] copy(j" + std::to_string(length) + ")");
    const Module module = parse_hlo(base::SourceText("loop.hlo", text));
    return trip_count(module, module.entry_computation(),
                      module.entry_computation().root_instruction());
  };
  EXPECT_EQ(with_chain(100), 4);
  EXPECT_EQ(with_chain(100'000), std::nullopt);
}

TEST(TripCount, AcceptsTheOperandsInEitherOrder) {
  Loop loop;
  loop.compare = "compare(k, i), direction=GT";
  loop.update = "add(step, i)";
  EXPECT_EQ(count(loop), 4);
  loop.update = "subtract(i, step)";
  loop.step = "-5";
  EXPECT_EQ(count(loop), 2);
}

TEST(TripCount, NeedsALimitThatDoesNotChange) {
  Loop loop;
  loop.passed_limit = "n2";
  EXPECT_EQ(count(loop), std::nullopt);
}

TEST(TripCount, BelievesTheCompilerFirst) {
  Loop loop;
  loop.config =
      ", backend_config={\"known_trip_count\":{\"n\":\"8\"},\"known_init_step\":{\"init\":\"0\"}}";
  EXPECT_EQ(count(loop), 8);
  loop.config = ", backend_config=\"{\\\"known_trip_count\\\":{\\\"n\\\":\\\"17\\\"}}\"";
  EXPECT_EQ(count(loop), 17);
  loop.config = ", backend_config={\"other\":{\"n\":\"8\"}}";
  EXPECT_EQ(count(loop), 4);
}

TEST(TripCount, OfEveryLoopOfThePublishedDumpsIsKnown) {
  const std::filesystem::path root = support::shared_dir();
  const auto folder = root / "hlo" / "public";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  int loops = 0;
  std::string unknown;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("xlaunit_")) continue;  // some are deliberately unknown
    const Module module = read_hlo_file(file.path().string());
    for (const Computation& computation : module.computations) {
      for (const Instruction& op : computation.instructions) {
        if (op.opcode != Opcode::kWhile) continue;
        ++loops;
        if (!trip_count(module, computation, op)) unknown += name + ": " + op.name + "\n";
      }
    }
  }
  EXPECT_GT(loops, 0);
  EXPECT_EQ(unknown, "");
  RecordProperty("loops", loops);
}
}  // namespace
}  // namespace tilecast::ir

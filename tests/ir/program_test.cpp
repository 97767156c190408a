#include "ir/program.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Program program_of(const std::string& text, const ProgramOptions& options = {}) {
  return make_program(parse_hlo(base::SourceText("test.hlo", text)), options);
}

std::vector<std::string> names(const Program& program) {
  std::vector<std::string> all;
  for (const ScheduledKernel& each : program.kernels()) all.push_back(each.kernel.name());
  return all;
}

const ScheduledKernel& named(const Program& program, std::string_view name) {
  for (const ScheduledKernel& each : program.kernels()) {
    if (each.kernel.name() == name) return each;
  }
  throw Error("the program has no such kernel");
}

std::vector<std::string> waited_for(const Program& program, std::string_view name) {
  std::vector<std::string> all;
  for (const KernelId id : named(program, name).waits_for) {
    all.push_back(program.at(id).kernel.name());
  }
  return all;
}

TEST(Program, KernelsWaitForWhatTheyUseThroughFreeOps) {
  const Program program = program_of(R"(
HloModule m
ENTRY main { x = f32[8] parameter(0)
  a = f32[8] negate(x)
  b = f32[8] exponential(x)
  t = (f32[8], f32[8]) tuple(a, b)
  g = f32[8] get-tuple-element(t), index=1
  c = f32[2,4] bitcast(g)
  ROOT d = f32[2,4] negate(c) })");
  EXPECT_THAT(names(program), ElementsAre("a", "b", "d"));
  EXPECT_THAT(waited_for(program, "d"), ElementsAre("b"));
  EXPECT_THAT(waited_for(program, "a"), IsEmpty());
}

TEST(Program, CountsTokensWhereItsIntegerArgumentsAgree) {
  const auto tokens = [](const std::string& arguments, const std::string& header = "") {
    return program_of("HloModule m" + header + "\nENTRY main { " + arguments +
                      " ROOT r = f32[8] negate(x) }")
        .tokens();
  };
  const std::string x = "x = f32[8] parameter(0) ";
  EXPECT_EQ(tokens(x), 0);
  EXPECT_EQ(tokens(x + "t = s32[4,128] parameter(1) l = s32[4,128] parameter(2)"), 512);
  EXPECT_EQ(tokens(x + "t = s64[4,128] parameter(1) step = s32[] parameter(2)"), 512);
  EXPECT_EQ(tokens(x + "t = s32[4,128] parameter(1) pages = s32[4,9] parameter(2)"), 0);
  EXPECT_EQ(tokens(x + "t = s32[4,128] parameter(1)", ", num_partitions=8"), 0);
}

// Nested loops with 3 and 5 iterations, the outer one counted by a pattern and the inner one by its
// configuration.
constexpr const char* kNestedLoops = R"(
HloModule m
inner_body { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[8] get-tuple-element(s), index=1
  inner_work = f32[8] exponential(v)
  ROOT t = (s32[], f32[8]) tuple(i, inner_work) }
inner_cond { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT inner_less = pred[] compare(i, n), direction=LT }
outer_body { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  w = (s32[], f32[8]) while(s), condition=inner_cond, body=inner_body, backend_config={"known_trip_count":{"n":"5"}}
  v = f32[8] get-tuple-element(w), index=1
  outer_work = f32[8] negate(v)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = (s32[], f32[8]) tuple(next, outer_work) }
outer_cond { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT outer_less = pred[] compare(i, n), direction=LT }
ENTRY main { x = f32[8] parameter(0)
  before = f32[8] cosine(x)
  z = s32[] constant(0)
  t = (s32[], f32[8]) tuple(z, before)
  w = (s32[], f32[8]) while(t), condition=outer_cond, body=outer_body
  v = f32[8] get-tuple-element(w), index=1
  ROOT after = f32[8] sine(v) })";

TEST(Program, MultiplicitiesAreProductsOfTripCounts) {
  const Program program = program_of(kNestedLoops);
  EXPECT_EQ(named(program, "before").multiplicity, 1);
  EXPECT_EQ(named(program, "outer_work").multiplicity, 3);
  EXPECT_EQ(named(program, "outer_less").multiplicity, 3);
  EXPECT_EQ(named(program, "inner_work").multiplicity, 3 * 5);
  EXPECT_EQ(named(program, "inner_work").loop_depth, 2);
  EXPECT_EQ(named(program, "inner_work").computation, "inner_body");
  EXPECT_THAT(program.notes(), IsEmpty());
}

// for i = 0 .. 4: for j = START; j < LIMIT: one negate; the state contains i, j and a limit of 7.
Program triangle(const std::string& start, const std::string& limit, int turns = 5) {
  const std::string state = "(s32[], s32[], f32[8])";
  return program_of(
      "HloModule m\n"
      "inner_body {\n  s = " +
      state +
      " parameter(0)\n  j = s32[] get-tuple-element(s), index=0\n"
      "  n = s32[] get-tuple-element(s), index=1\n  x = f32[8] get-tuple-element(s), index=2\n"
      "  one = s32[] constant(1)\n  k = s32[] add(j, one)\n  inside = f32[8] negate(x)\n"
      "  ROOT r = " +
      state +
      " tuple(k, n, inside)\n}\n"
      "inner_test {\n  s = " +
      state +
      " parameter(0)\n  j = s32[] get-tuple-element(s), index=0\n"
      "  n = s32[] get-tuple-element(s), index=1\n"
      "  ROOT c = pred[] compare(j, n), direction=LT\n}\n"
      "outer_body {\n  s = " +
      state +
      " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  n = s32[] get-tuple-element(s), index=1\n  x = f32[8] get-tuple-element(s), index=2\n"
      "  one = s32[] constant(1)\n  k = s32[] add(i, one)\n"
      "  t = " +
      state + " tuple(" + start + ", " + limit +
      ", x)\n"
      "  w = " +
      state +
      " while(t), condition=inner_test, body=inner_body\n"
      "  y = f32[8] get-tuple-element(w), index=2\n  ROOT r = " +
      state +
      " tuple(k, n, y)\n}\n"
      "outer_test {\n  s = " +
      state +
      " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  five = s32[] constant(" +
      std::to_string(turns) +
      ")\n"
      "  ROOT c = pred[] compare(i, five), direction=LT\n}\n"
      "ENTRY e {\n  x = f32[8] parameter(0)\n  zero = s32[] constant(0)\n  n = s32[] constant(7)\n"
      "  t = " +
      state +
      " tuple(zero, n, x)\n"
      "  ROOT w = " +
      state + " while(t), condition=outer_test, body=outer_body\n}\n");
}

TEST(Program, InnerLoopsAreCountedInEveryTurnOfTheOuter) {
  EXPECT_EQ(named(triangle("one", "n"), "inside").multiplicity, 5 * (7 - 1));
  EXPECT_EQ(named(triangle("i", "n"), "inside").multiplicity, 7 + 6 + 5 + 4 + 3);
  EXPECT_EQ(named(triangle("one", "k"), "inside").multiplicity, 0 + 1 + 2 + 3 + 4);
  EXPECT_THAT(triangle("i", "k").notes(), IsEmpty());
  // More iterations than are distinguished: constant parts are known, the rest is assumed.
  EXPECT_EQ(named(triangle("one", "n", 2000), "inside").multiplicity, 2000 * (7 - 1));
  const Program assumed = triangle("i", "n", 2000);
  EXPECT_EQ(named(assumed, "inside").multiplicity, 2000 * ProgramOptions{}.default_trip_count);
  EXPECT_THAT(assumed.notes().front().what, HasSubstr("unknown"));
}

TEST(Program, DependencesPassThroughLoopState) {
  const Program program = program_of(kNestedLoops);
  EXPECT_THAT(waited_for(program, "inner_work"), ElementsAre("before"));
  EXPECT_THAT(waited_for(program, "outer_work"), ElementsAre("inner_work"));
  EXPECT_THAT(waited_for(program, "after"), ElementsAre("outer_work"));
}

TEST(Program, AnUnknownTripCountIsAssumedAndSaid) {
  const std::string text = R"(
HloModule m
body { s = (pred[], f32[8]) parameter(0)
  p = pred[] get-tuple-element(s), index=0
  v = f32[8] get-tuple-element(s), index=1
  work = f32[8] exponential(v)
  ROOT t = (pred[], f32[8]) tuple(p, work) }
cond { s = (pred[], f32[8]) parameter(0)
  ROOT p = pred[] get-tuple-element(s), index=0 }
ENTRY main { s = (pred[], f32[8]) parameter(0)
  ROOT loop = (pred[], f32[8]) while(s), condition=cond, body=body })";
  const Program program = program_of(text, {.default_trip_count = 7});
  EXPECT_EQ(named(program, "work").multiplicity, 7);
  ASSERT_EQ(program.notes().size(), 1U);
  EXPECT_THAT(program.notes()[0].what, HasSubstr("trip count of loop unknown: 7 assumed"));
  EXPECT_THROW((void)program_of(text, {.default_trip_count = -1}), Error);
}

TEST(Program, BranchesShareTheirWeight) {
  const Program program = program_of(R"(
HloModule m
one { p = f32[8] parameter(0)
  ROOT a = f32[8] exponential(p) }
two { p = f32[8] parameter(0)
  ROOT b = f32[8] negate(p) }
ENTRY main { c = pred[] parameter(0)
  x = f32[8] parameter(1)
  r = f32[8] conditional(c, x, x), true_computation=one, false_computation=two
  ROOT after = f32[8] sine(r) })");
  EXPECT_EQ(named(program, "a").multiplicity, 0.5);
  EXPECT_EQ(named(program, "b").multiplicity, 0.5);
  EXPECT_EQ(program.notes().size(), 1U);
  EXPECT_THAT(waited_for(program, "after"), ElementsAre("a", "b"));
}

TEST(Program, CallsAreInlined) {
  const Program program = program_of(R"(
HloModule m
callee { p = f32[8] parameter(0)
  ROOT work = f32[8] exponential(p) }
ENTRY main { x = f32[8] parameter(0)
  a = f32[8] call(x), to_apply=callee
  b = f32[8] call(a), to_apply=callee
  ROOT after = f32[8] sine(b) })");
  EXPECT_THAT(names(program), ElementsAre("work", "work", "after"));
  EXPECT_THAT(program.kernels()[2].waits_for, ElementsAre(KernelId(std::size_t{1})));
}

TEST(Program, AnAsynchronousCopyRunsUntilItsFirstUser) {
  const Program program = program_of(R"(
HloModule m, is_scheduled=true
ENTRY main { x = f32[8,128]{1,0} parameter(0)
  y = f32[8,128]{1,0} parameter(1)
  s = (f32[8,128]{1,0:S(1)}, f32[8,128]{1,0}, u32[]) copy-start(x)
  beside = f32[8,128]{1,0} exponential(y)
  d = f32[8,128]{1,0:S(1)} copy-done(s)
  still = f32[8,128]{1,0} negate(beside)
  ROOT user = f32[8,128]{1,0} add(still, d) })");
  const ScheduledKernel& copy = named(program, "s");
  EXPECT_TRUE(copy.asynchronous);
  ASSERT_TRUE(copy.done_before.valid());
  EXPECT_EQ(program.at(copy.done_before).kernel.name(), "user");
  EXPECT_FALSE(named(program, "beside").asynchronous);
  EXPECT_THAT(waited_for(program, "user"), ElementsAre("s", "still"));
}

TEST(Program, AResultThatNobodyUsesIsWaitedForAtItsDoneOp) {
  const Program program = program_of(R"(
HloModule m, is_scheduled=true
ENTRY main { x = f32[8] parameter(0)
  s = (f32[8], f32[8], u32[]) copy-start(x)
  a = f32[8] exponential(x)
  d = f32[8] copy-done(s)
  b = f32[8] negate(a)
  ROOT t = (f32[8], f32[8]) tuple(d, b) })");
  ASSERT_TRUE(named(program, "s").done_before.valid());
  EXPECT_EQ(program.at(named(program, "s").done_before).kernel.name(), "b");
}

TEST(Program, CountsAnnotationsAsFreeAndSaysSo) {
  const Program program = program_of(R"(
HloModule m
ENTRY main { x = f32[8] parameter(0)
  a = f32[8] negate(x)
  s = f32[8] custom-call(a), custom_call_target="Sharding", sharding={replicated}
  ROOT b = f32[8] exponential(s) })");
  EXPECT_THAT(names(program), ElementsAre("a", "b"));
  EXPECT_THAT(waited_for(program, "b"), ElementsAre("a"));
  EXPECT_EQ(program.notes().size(), 1U);
}

TEST(Program, CallsThatOnlyNameMemoryAreNoKernels) {
  const Program program = program_of(R"(
HloModule m
ENTRY main { x = f32[8] parameter(0)
  room = f32[16] custom-call(), custom_call_target="AllocateBuffer"
  a = f32[8] negate(x)
  both = f32[16] custom-call(a, a), custom_call_target="ConcatBitcast"
  ROOT s = f32[16] add(room, both) })");
  EXPECT_THAT(names(program), ElementsAre("a", "s"));
  EXPECT_THAT(waited_for(program, "s"), ElementsAre("a"));
}

TEST(Program, SaysThatBoundsStandForDynamicDimensions) {
  const Program program = program_of(R"(
HloModule m
ENTRY main { x = f32[<=8] parameter(0)
  ROOT a = f32[<=8] negate(x) })");
  ASSERT_EQ(program.notes().size(), 1U);
  EXPECT_THAT(program.notes()[0].what, HasSubstr("dynamic"));
}

TEST(Program, KeepsKernelsOfEmptyTensors) {
  const Program program = program_of(R"(
HloModule m
ENTRY main { x = f32[0,8] parameter(0)
  ROOT a = f32[0,8] negate(x) })");
  ASSERT_EQ(program.kernels().size(), 1U);
  EXPECT_EQ(program.kernels()[0].kernel.work().flops, 0);
}

TEST(Program, RefusesCallsThatInlineWithoutEnd) {
  std::string text = "HloModule m\nc0 { p = f32[] parameter(0)\n ROOT r = f32[] negate(p) }\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string callee = "c" + std::to_string(i - 1);
    text += "c" + std::to_string(i) +
            " { p = f32[] parameter(0)\n a = f32[] call(p), to_apply=" + callee +
            "\n ROOT b = f32[] call(a), to_apply=" + callee + " }\n";
  }
  text += "ENTRY main { p = f32[] parameter(0)\n ROOT r = f32[] call(p), to_apply=c40 }\n";
  EXPECT_THROW((void)program_of(text), Error);
}

// A loop of three turns with `in_body` kernels, after `before` and before `after` ones.
std::string loop_between(int before, int in_body, int after, const std::string& limit = "3") {
  const auto chain = [](const std::string& first, int number) {
    std::string text;
    for (int i = 0; i < number; ++i) {
      text += "  " + first + std::to_string(i + 1) + " = f32[8] copy(" + first + std::to_string(i) +
              ")\n";
    }
    return text;
  };
  return "HloModule m\nbody { s = (s32[], f32[8]) parameter(0)\n"
         "  i = s32[] get-tuple-element(s), index=0\n  one = s32[] constant(1)\n"
         "  x0 = f32[8] get-tuple-element(s), index=1\n"
         "  n = f32[8] reverse(x0), dimensions={0}\n  j = s32[] add(i, one)\n" +
         chain("x", in_body) + "  ROOT t = (s32[], f32[8]) tuple(j, x" + std::to_string(in_body) +
         ") }\ntest { s = (s32[], f32[8]) parameter(0)\n"
         "  i = s32[] get-tuple-element(s), index=0\n  limit = s32[] " +
         limit +
         "\n  ROOT less = pred[] compare(i, limit), direction=LT }\n"
         "ENTRY main { a0 = f32[8] parameter(0)\n" +
         chain("a", before) + "  zero = s32[] constant(0)\n  s = (s32[], f32[8]) tuple(zero, a" +
         std::to_string(before) +
         ")\n  w = (s32[], f32[8]) while(s), condition=test, body=body\n"
         "  b0 = f32[8] get-tuple-element(w), index=1\n" +
         chain("b", after) + "  ROOT r = f32[8] bitcast(b" + std::to_string(after) + ") }";
}

constexpr ProgramOptions kXlaGpu{.xla_gpu = true};

TEST(Program, OnGpusTheConditionOfACountedLoopIsNoKernel) {
  const std::string text = loop_between(0, 1, 0, "constant(3)");
  EXPECT_THAT(names(program_of(text)), ElementsAre("less", "n", "j", "x1"));
  EXPECT_THAT(names(program_of(text, kXlaGpu)), ElementsAre("n", "j", "x1"));
  const std::string unknown = loop_between(0, 1, 0, "custom-call(), custom_call_target=\"f\"");
  EXPECT_THAT(names(program_of(unknown, kXlaGpu)), ElementsAre("limit", "less", "n", "j", "x1"));
}

// No graph records the reversal in the loop.
TEST(Program, FiveKernelsInARowAreOneLaunch) {
  const auto graphs = [](int before, int in_body, int after) {
    const Program program =
        program_of(loop_between(before, in_body, after, "constant(3)"), kXlaGpu);
    std::size_t in_graphs = 0;
    for (const ScheduledKernel& kernel : program.kernels()) in_graphs += kernel.graph >= 0 ? 1 : 0;
    return std::pair(in_graphs, program.host_launches());
  };
  EXPECT_EQ(graphs(4, 1, 0), std::pair(std::size_t{0}, 4.0 + 3 * 3));
  EXPECT_EQ(graphs(5, 1, 0), std::pair(std::size_t{5}, 1.0 + 3 * 3));
  EXPECT_EQ(graphs(5, 1, 6), std::pair(std::size_t{11}, 2.0 + 3 * 3));
  EXPECT_EQ(graphs(0, 5, 0), std::pair(std::size_t{6}, 3.0 * 2));  // j and the copies; n
  EXPECT_EQ(program_of(loop_between(9, 9, 9, "constant(3)")).host_launches(), 0) << "not known";
}

TEST(Program, ALoopOfRecordedKernelsIsPartOfTheGraphAroundIt) {
  const Program program = program_of(R"(
HloModule m
body { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  y = f32[8] copy(x)
  ROOT t = (s32[], f32[8]) tuple(i, y) }
test { s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  limit = s32[] constant(3)
  ROOT less = pred[] compare(i, limit), direction=LT }
ENTRY main { a = f32[8] parameter(0)
  b = f32[8] copy(a)
  c = f32[8] copy(b)
  zero = s32[] constant(0)
  s = (s32[], f32[8]) tuple(zero, c)
  w = (s32[], f32[8]) while(s), condition=test, body=body,
    backend_config={"known_trip_count":{"n":"3"}}
  d = f32[8] get-tuple-element(w), index=1
  e = f32[8] copy(d)
  ROOT g = f32[8] copy(e) })",
                                     kXlaGpu);
  EXPECT_THAT(names(program), ElementsAre("b", "c", "y", "e", "g"));
  for (const ScheduledKernel& kernel : program.kernels()) EXPECT_EQ(kernel.graph, 0);
  EXPECT_EQ(program.host_launches(), 1);
  EXPECT_EQ(program.arguments(), 1U);
}

}  // namespace
}  // namespace tilecast::ir

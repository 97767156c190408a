#include "ir/kernel.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/source_text.h"
#include "ir/kernels/kernel_fingerprint.h"
#include "ir/kernels/kernel_sketch.h"
#include "ir/kernels/kernel_sources.h"
#include "ir/kernels/kernel_split.h"
#include "ir/program.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Op op(Opcode opcode, Shape shape, std::vector<OpId> operands) {
  Op result;
  result.opcode = opcode;
  result.shape = std::move(shape);
  result.operands = std::move(operands);
  return result;
}

// The kernel of the entry instruction called `name`.
Kernel kernel_of(const std::string& text, std::string_view name) {
  const Module module = parse_hlo(base::SourceText("test.hlo", text));
  WorkCounter counter(module);
  const Computation& entry = module.entry_computation();
  for (std::size_t i = 0; i < entry.instructions.size(); ++i) {
    if (entry.instructions[i].name == name) {
      return make_kernel(module, module.entry, InstrId(i), counter);
    }
  }
  throw Error("the test's module has no such instruction");
}

std::vector<Opcode> opcodes(const Kernel& kernel) {
  std::vector<Opcode> all;
  for (const Op& each : kernel.ops()) all.push_back(each.opcode);
  return all;
}

TEST(KernelBuilder, KeepsOpsInTheOrderGivenAndLinksUsers) {
  const Shape shape = Shape::array(DType::kF32, {8, 128});
  KernelBuilder builder("k", Opcode::kFusion);
  const OpId x = builder.parameter(shape);
  const OpId squared = builder.add(op(Opcode::kMultiply, shape, {x, x}));
  const OpId sum = builder.add(op(Opcode::kAdd, shape, {squared, x}));
  const Kernel kernel = builder.build({sum});
  EXPECT_THAT(kernel.users(x), ElementsAre(squared, sum));
  EXPECT_THAT(kernel.users(sum), IsEmpty());
  EXPECT_THAT(kernel.outputs(), ElementsAre(sum));
  EXPECT_THAT(kernel.parameters(), ElementsAre(x));
}

TEST(KernelBuilder, PutsOperandsFirstWhenTheyWereAddedLater) {
  const Shape shape = Shape::array(DType::kF32, {4});
  KernelBuilder builder("k", Opcode::kFusion);
  const OpId later(std::size_t{2});
  const OpId first = builder.add(op(Opcode::kNegate, shape, {later}));
  const OpId parameter = builder.parameter(shape);
  builder.add(op(Opcode::kExp, shape, {parameter}));
  const Kernel kernel = builder.build({first});
  EXPECT_THAT(opcodes(kernel), ElementsAre(Opcode::kParameter, Opcode::kExp, Opcode::kNegate));
  EXPECT_EQ(kernel.op(kernel.outputs()[0]).opcode, Opcode::kNegate);
  EXPECT_EQ(kernel.op(kernel.parameters()[0]).opcode, Opcode::kParameter);
}

TEST(KernelBuilder, RefusesCyclesUnknownOperandsAndTuplesAtItsEdges) {
  const Shape shape = Shape::array(DType::kF32, {4});
  KernelBuilder cyclic("k", Opcode::kFusion);
  const OpId self = cyclic.add(op(Opcode::kNegate, shape, {OpId(std::size_t{0})}));
  EXPECT_THROW((void)cyclic.build({self}), Error);

  KernelBuilder dangling("k", Opcode::kFusion);
  const OpId bad = dangling.add(op(Opcode::kNegate, shape, {OpId(std::size_t{7})}));
  EXPECT_THROW((void)dangling.build({bad}), Error);

  KernelBuilder tuple("k", Opcode::kFusion);
  const OpId pair = tuple.parameter(Shape::tuple({shape, shape}));
  EXPECT_THROW((void)tuple.build({pair}), Error);
}

TEST(Kernel, InlinesNestedFusionsAndResolvesTuples) {
  const Kernel kernel = kernel_of(R"(
HloModule m
inner { p = f32[8] parameter(0)
  e = f32[8] exponential(p)
  n = f32[8] negate(p)
  ROOT t = (f32[8], f32[8]) tuple(e, n) }
outer { a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  both = (f32[8], f32[8]) fusion(a), kind=kLoop, calls=inner
  e = f32[8] get-tuple-element(both), index=0
  n = f32[8] get-tuple-element(both), index=1
  s = f32[8] add(e, b)
  ROOT t = (f32[8], f32[8]) tuple(s, n) }
ENTRY main { x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  ROOT f = (f32[8], f32[8]) fusion(x, y), kind=kLoop, calls=outer })",
                                  "f");
  EXPECT_THAT(opcodes(kernel), ElementsAre(Opcode::kParameter, Opcode::kExp, Opcode::kNegate,
                                           Opcode::kParameter, Opcode::kAdd));
  ASSERT_EQ(kernel.outputs().size(), 2U);
  EXPECT_EQ(kernel.op(kernel.outputs()[0]).opcode, Opcode::kAdd);
  EXPECT_EQ(kernel.op(kernel.outputs()[1]).opcode, Opcode::kNegate);
  EXPECT_EQ(kernel.work().flops, 8 + 8);
  EXPECT_EQ(kernel.work().transcendentals, 8);
}

TEST(Kernel, ParametersAreShapedAsDefinedOutside) {
  const Kernel kernel = kernel_of(R"(
HloModule m
body { p = f32[16,256]{1,0} parameter(0)
  ROOT n = f32[16,256]{1,0} negate(p) }
ENTRY main { x = f32[16,256]{0,1:T(8,128)S(1)} parameter(0)
  ROOT f = f32[16,256]{0,1:T(8,128)} fusion(x), kind=kLoop, calls=body })",
                                  "f");
  EXPECT_EQ(to_string(kernel.op(kernel.parameters()[0]).shape), "f32[16,256]{0,1:T(8,128)S(1)}");
  EXPECT_EQ(to_string(kernel.op(kernel.outputs()[0]).shape), "f32[16,256]{0,1:T(8,128)}");
}

TEST(Kernel, TakesScalarConstantsInAndAppliedWorkFromTheCallee) {
  const Kernel kernel = kernel_of(R"(
HloModule m
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY main { x = f32[64,32] parameter(0)
  zero = f32[] constant(0)
  ROOT r = f32[64] reduce(x, zero), dimensions={1}, to_apply=sum })",
                                  "r");
  EXPECT_THAT(opcodes(kernel), ElementsAre(Opcode::kParameter, Opcode::kConstant, Opcode::kReduce));
  EXPECT_EQ(kernel.parameters().size(), 1U);
  EXPECT_EQ(kernel.op(kernel.outputs()[0]).applied_flops, 1);
  EXPECT_EQ(kernel.work().flops, (32 - 1) * 64);
}

TEST(Kernel, OpsWithSeveralResultsKeepTheirTuple) {
  const Kernel kernel = kernel_of(R"(
HloModule m
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT }
ENTRY main { k = f32[100] parameter(0)
  v = s32[100] parameter(1)
  ROOT s = (f32[100], s32[100]) sort(k, v), dimensions={0}, to_apply=less })",
                                  "s");
  ASSERT_EQ(kernel.outputs().size(), 2U);
  const Op& values = kernel.op(kernel.outputs()[1]);
  EXPECT_EQ(values.opcode, Opcode::kGetTupleElement);
  EXPECT_EQ(values.shape.dtype, DType::kS32);
  EXPECT_EQ(values.as<IndexAttrs>().index, 1);
  EXPECT_EQ(kernel.op(values.operands[0]).opcode, Opcode::kSort);
}

TEST(Kernel, FindsUpdatesInPlaceThroughBitcasts) {
  const Kernel kernel = kernel_of(R"(
HloModule m
body { u = f32[1,128] parameter(0)
  buffer = f32[64,128] parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  d = f32[64,128] dynamic-update-slice(buffer, u, i, z)
  ROOT b = f32[64,1,128] bitcast(d) }
ENTRY main { u = f32[1,128] parameter(0)
  buffer = f32[64,128] parameter(1)
  i = s32[] parameter(2)
  ROOT f = f32[64,1,128] fusion(u, buffer, i), kind=kLoop, calls=body })",
                                  "f");
  ASSERT_EQ(kernel.in_place().size(), 1U);
  const auto [output, parameter] = kernel.in_place()[0];
  EXPECT_EQ(output, 0U);
  EXPECT_EQ(kernel.name_of(kernel.parameters()[parameter]), "buffer");
}

TEST(Kernel, FollowsDeclaredAliasing) {
  const Kernel kernel = kernel_of(R"(
HloModule m
ENTRY main { a = f32[8] parameter(0)
  b = f32[16] parameter(1)
  ROOT c = (f32[16], f32[8]) custom-call(a, b), custom_call_target="x", output_to_operand_aliasing={{0}: (1, {})} })",
                                  "c");
  ASSERT_EQ(kernel.in_place().size(), 1U);
  EXPECT_EQ(kernel.in_place()[0], (std::pair<std::size_t, std::size_t>{0, 1}));
}

TEST(Kernel, ACopyStartMovesItsOperandToItsDestination) {
  const Kernel kernel = kernel_of(R"(
HloModule m
ENTRY main { x = f32[8,128]{1,0} parameter(0)
  s = (f32[8,128]{1,0:S(1)}, f32[8,128]{1,0}, u32[]) copy-start(x)
  ROOT d = f32[8,128]{1,0:S(1)} copy-done(s) })",
                                  "s");
  EXPECT_EQ(kernel.opcode(), Opcode::kCopyStart);
  ASSERT_EQ(kernel.outputs().size(), 1U);
  EXPECT_EQ(kernel.op(kernel.outputs()[0]).shape.memory_space(), 1);
  EXPECT_EQ(kernel.op(kernel.parameters()[0]).shape.memory_space(), 0);
}

TEST(Kernel, AnAsyncStartIsTheKernelOfWhatItWraps) {
  const Kernel kernel = kernel_of(R"(
HloModule m, replica_count=4
wrapped { p = f32[8] parameter(0)
  ROOT n = f32[32] all-gather(p), replica_groups={{0,1,2,3}}, dimensions={0} }
ENTRY main { x = f32[8] parameter(0)
  s = ((f32[8]), f32[32], u32[]) async-start(x), calls=wrapped
  ROOT d = f32[32] async-done(s) })",
                                  "s");
  EXPECT_EQ(kernel.opcode(), Opcode::kAllGather);
  EXPECT_EQ(kernel.group_size(), 4);
  ASSERT_EQ(kernel.outputs().size(), 1U);
  EXPECT_EQ(element_count(kernel.op(kernel.outputs()[0]).shape), 32);
}

TEST(Kernel, AResultThatIsAnOperandIsCopied) {
  const Kernel kernel = kernel_of(R"(
HloModule m
body { p = f32[8] parameter(0)
  n = f32[8] negate(p)
  ROOT t = (f32[8], f32[8]) tuple(n, p) }
ENTRY main { x = f32[8] parameter(0)
  ROOT f = (f32[8], f32[8]) fusion(x), kind=kLoop, calls=body })",
                                  "f");
  EXPECT_EQ(kernel.op(kernel.outputs()[1]).opcode, Opcode::kCopy);
}

TEST(Kernel, AppliesTheOneOpOfTheCalledComputation) {
  const std::pair<std::string, std::optional<Opcode>> cases[] = {
      {"add(a, b)", Opcode::kAdd},         {"add(b, a)", Opcode::kAdd},
      {"maximum(b, a)", Opcode::kMaximum}, {"subtract(a, b)", Opcode::kSubtract},
      {"subtract(b, a)", std::nullopt},    {"add(a, a)", std::nullopt},
      {"add(a, n)", std::nullopt},         {"negate(b)", std::nullopt}};
  for (const auto& [root, expected] : cases) {
    const Kernel kernel = kernel_of(R"(
HloModule m
reducer { a = f32[] parameter(0)
  b = f32[] parameter(1)
  n = f32[] negate(b)
  ROOT r = f32[] )" + root + R"( }
ENTRY main { x = f32[8,4] parameter(0)
  zero = f32[] constant(0)
  ROOT c = f32[8] reduce(x, zero), dimensions={1}, to_apply=reducer })",
                                    "c");
    EXPECT_EQ(kernel.op(kernel.outputs()[0]).applied, expected) << root;
  }
}

TEST(Kernel, AVariadicReducerAppliesNoSingleOp) {
  const Kernel kernel = kernel_of(R"(
HloModule m
reducer { a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  e = f32[] add(a, c)
  f = f32[] add(b, d)
  ROOT t = (f32[], f32[]) tuple(e, f) }
ENTRY main { x = f32[8,4] parameter(0)
  zero = f32[] constant(0)
  ROOT c = (f32[8], f32[8]) reduce(x, x, zero, zero), dimensions={1}, to_apply=reducer })",
                                  "c");
  for (const Op& op : kernel.ops()) EXPECT_EQ(op.applied, std::nullopt);
}

// Equal ids denote different devices in XLA's modes: device = replica x partitions + partition.
TEST(Kernel, KnowsTheDevicesOfItsGroupsInEveryMode) {
  const auto groups = [](const std::string& attributes) {
    const std::string text =
        "HloModule m, replica_count=2, num_partitions=4\n"
        "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"
        "ENTRY main { x = f32[8] parameter(0)\n"
        " ROOT c = f32[8] all-reduce(x), to_apply=sum, " +
        attributes + " }";
    return kernel_of(text, "c").device_groups().groups;
  };
  using Groups = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(groups("replica_groups={{0,1}}"), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(groups("replica_groups={}"), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(groups("replica_groups={{0,1}}, channel_id=1"), (Groups{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(groups("replica_groups={{0},{1}}, channel_id=1"), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(groups("replica_groups=[4,2]<=[2,4]T(1,0), channel_id=1, use_global_device_ids=true"),
            (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST(Kernel, KnowsWhoSendsToWhomInAPermute) {
  const Kernel kernel = kernel_of(
      "HloModule m, replica_count=2, num_partitions=4\n"
      "ENTRY main { x = f32[8] parameter(0)\n"
      " ROOT c = f32[8] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{3,0}} }",
      "c");
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(kernel.device_groups().pairs, (Pairs{{0, 1}, {4, 5}, {3, 0}, {7, 4}}));
  EXPECT_TRUE(kernel.device_groups().groups.empty());
}

TEST(Kernel, GroupSizesFollowXlasReadingOfTheIds) {
  const struct {
    std::string header, attributes;
    std::int64_t expected;
  } cases[] = {
      {"replica_count=4, num_partitions=2", "replica_groups={{0,1},{2,3}}", 2},
      {"replica_count=4, num_partitions=2", "replica_groups={}", 4},
      {"replica_count=4, num_partitions=2", "replica_groups={{0,1},{2,3}}, channel_id=1", 2 * 2},
      {"replica_count=1, num_partitions=8",
       "replica_groups=[2,4]<=[8], channel_id=1, use_global_device_ids=true", 4}};
  for (const auto& [header, attributes, expected] : cases) {
    const std::string text = "HloModule m, " + header + R"(
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY main { x = f32[8] parameter(0)
  ROOT c = f32[8] all-reduce(x), to_apply=sum, )" +
                             attributes + " }";
    EXPECT_EQ(kernel_of(text, "c").group_size(), expected) << attributes;
  }
}

TEST(MakeWiredKernel, SaysWhichArrayEachParameterIs) {
  const Module module = parse_hlo(base::SourceText("test.hlo", R"(HloModule m
fused (p0: (f32[4], f32[8], f32[4]), p1: f32[], p2: f32[4]) -> f32[4] {
  p0 = (f32[4]{0}, f32[8]{0}, f32[4]{0}) parameter(0)
  p1 = f32[] parameter(1)
  p2 = f32[4]{0} parameter(2)
  x = f32[4]{0} get-tuple-element(p0), index=2
  scale = f32[4]{0} broadcast(p1), dimensions={}
  product = f32[4]{0} multiply(x, scale)
  ROOT sum = f32[4]{0} add(product, p2)
}
ENTRY e {
  t = (f32[4]{0}, f32[8]{0}, f32[4]{0}) parameter(0)
  half = f32[] constant(0.5)
  first = f32[4]{0} get-tuple-element(t), index=0
  ROOT f = f32[4]{0} fusion(t, half, first), kind=kLoop, calls=fused
})"));
  WorkCounter counter(module);
  const Computation& entry = module.entry_computation();
  const WiredKernel wired = make_wired_kernel(module, module.entry, entry.root, counter);
  // The scalar constant is an op of the kernel; leaves 0 and 1 of the tuple are unused.
  ASSERT_EQ(wired.parameters.size(), wired.kernel.parameters().size());
  ASSERT_EQ(wired.parameters.size(), 2U);
  EXPECT_EQ(entry.at(wired.parameters[0].instruction).name, "t");
  EXPECT_EQ(wired.parameters[0].leaf, 2U);
  EXPECT_EQ(entry.at(wired.parameters[1].instruction).name, "first");
  EXPECT_EQ(wired.parameters[1].leaf, 0U);
}

}  // namespace
namespace {

Program program_with(const std::string& body, int jobs = 1) {
  const std::string text =
      "HloModule m\n"
      "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"
      "ENTRY e { a = f32[64,128] parameter(0) b = f32[64,128] parameter(1)\n" +
      body + "}\n";
  return make_program(parse_hlo(base::SourceText("test.hlo", text)), {.jobs = jobs});
}

bool shared(const Program& program, std::size_t i, std::size_t j) {
  return program.kernels()[i].kernel.content() == program.kernels()[j].kernel.content();
}

TEST(KernelContents, EqualKernelsKeepOneContentAndTheirOwnNames) {
  const Program program = program_with(
      "c = f32[64,128] add(a, b), metadata={op_name=\"first\"}\n"
      "ROOT d = f32[64,128] add(b, c), metadata={op_name=\"second\"}\n");
  ASSERT_EQ(program.kernels().size(), 2U);
  EXPECT_TRUE(shared(program, 0, 1));
  const Kernel& first = program.kernels()[0].kernel;
  const Kernel& second = program.kernels()[1].kernel;
  EXPECT_EQ(first.ops().data(), second.ops().data());
  EXPECT_EQ(first.name(), "c");
  EXPECT_EQ(second.name(), "d");
  EXPECT_EQ(first.op_name(), "first");
  EXPECT_EQ(second.op_name(), "second");
  EXPECT_EQ(first.name_of(first.outputs()[0]), "c");
  EXPECT_EQ(second.name_of(second.outputs()[0]), "d");
  EXPECT_EQ(second.name_of(second.parameters()[0]), "b");
}

TEST(KernelContents, WhatComputesSomethingElseIsAnother) {
  const auto are_one = [](const std::string& one, const std::string& other) {
    const Program program = program_with(one + "\n" + other + "\nROOT r = f32[64,128] negate(a)\n");
    EXPECT_EQ(program.kernels().size(), 3U);
    return shared(program, 0, 1);
  };
  EXPECT_TRUE(are_one("c = f32[64,128] exponential(a)", "d = f32[64,128] exponential(b)"));
  EXPECT_FALSE(are_one("c = f32[64,128] exponential(a)", "d = f32[64,128] tanh(b)"));
  EXPECT_FALSE(are_one("c = f32[64,128] add(a, b)", "d = f32[64,128] add(b, b)"));
  EXPECT_FALSE(are_one("c = pred[64,128] compare(a, b), direction=LT",
                       "d = pred[64,128] compare(a, b), direction=GT"));
  EXPECT_FALSE(are_one("c = f32[32,128] slice(a), slice={[0:32], [0:128]}",
                       "d = f32[32,128] slice(a), slice={[32:64], [0:128]}"));
  EXPECT_TRUE(are_one(
      "one = f32[] constant(1)\nc = f32[64] reduce(a, one), dimensions={1}, to_apply=add",
      "same = f32[] constant(1)\nd = f32[64] reduce(b, same), dimensions={1}, to_apply=add"));
  EXPECT_FALSE(
      are_one("one = f32[] constant(1)\nc = f32[64] reduce(a, one), dimensions={1}, to_apply=add",
              "two = f32[] constant(2)\nd = f32[64] reduce(a, two), dimensions={1}, to_apply=add"));
}

TEST(KernelContents, WhatSpeaksToTheWorldOutsideIsNeverShared) {
  const Program program = program_with(
      "c = f32[64,128] all-reduce(a), channel_id=1, replica_groups={{0}}, to_apply=add\n"
      "d = f32[64,128] all-reduce(a), channel_id=2, replica_groups={{0}}, to_apply=add\n"
      "e1 = f32[64,128] custom-call(a), custom_call_target=\"t\"\n"
      "ROOT e2 = f32[64,128] custom-call(a), custom_call_target=\"t\"\n");
  ASSERT_EQ(program.kernels().size(), 4U);
  EXPECT_FALSE(shared(program, 0, 1));
  EXPECT_FALSE(shared(program, 2, 3));
}

TEST(KernelContents, TheProgramDoesNotDependOnThreads) {
  std::string body = "op0 = f32[64,128] add(a, b)\n";
  constexpr std::size_t kKernels = 1000;
  for (std::size_t i = 1; i < kKernels; ++i) {
    const std::string before = "op" + std::to_string(i - 1), own = "op" + std::to_string(i);
    body += (i + 1 == kKernels ? "ROOT " : "") + own + " = f32[64,128] " +
            (i % 7 == 0 ? "multiply" : "add") + "(a, " + before + ")\n";
  }
  const Program one = program_with(body);
  const Program many = program_with(body, 4);
  ASSERT_EQ(one.kernels().size(), kKernels);
  ASSERT_EQ(many.kernels().size(), kKernels);
  for (std::size_t i = 0; i < kKernels; ++i) {
    const Kernel& a = one.kernels()[i].kernel;
    const Kernel& b = many.kernels()[i].kernel;
    EXPECT_EQ(a.name(), b.name());
    EXPECT_EQ(fingerprint(a), fingerprint(b));
    EXPECT_EQ(shared(one, 0, i), shared(many, 0, i)) << i;
    EXPECT_EQ(shared(one, 0, i), i % 7 != 0 || i == 0) << i;
  }
}

}  // namespace
namespace {

constexpr std::int64_t kRows = 64, kColumns = 512;
constexpr double kArray = 4.0 * kRows * kColumns;  // bytes of f32[64,512]
constexpr double kColumn = 4.0 * kRows;

// exp(x - max) / sum over the columns
Kernel softmax() {
  KernelSketch sketch("softmax", Opcode::kFusion, LayoutRules{});
  const OpId x = sketch.parameter(DType::kF32, {kRows, kColumns});
  const OpId top = sketch.broadcast_like(sketch.reduce(x, Opcode::kMaximum, 1), x, {0});
  const OpId powers =
      sketch.elementwise(Opcode::kExp, {sketch.elementwise(Opcode::kSubtract, {x, top})});
  const OpId sum = sketch.broadcast_like(sketch.reduce(powers, Opcode::kAdd, 1), x, {0});
  return sketch.build({sketch.elementwise(Opcode::kDivide, {powers, sum})});
}

double bytes(const std::vector<Kernel>& kernels) {
  double total = 0;
  for (const Kernel& kernel : kernels) total += kernel.work().bytes_accessed;
  return total;
}

TEST(SplitKernel, PerOpLoadsAndStoresEveryArray) {
  const std::vector<Kernel> steps = split_kernel(softmax(), Launches::kPerOp);
  ASSERT_EQ(steps.size(), 5U);  // max, subtract, exp, sum, divide
  EXPECT_DOUBLE_EQ(bytes(steps), 5 * kArray + 3 * kArray + 4 * kColumn);
}

TEST(SplitKernel, PerReductionRecomputesWhatIsNotStored) {
  const std::vector<Kernel> steps = split_kernel(softmax(), Launches::kPerReduction);
  ASSERT_EQ(steps.size(), 3U);  // max, sum of exp, exp / sum
  EXPECT_DOUBLE_EQ(bytes(steps), 3 * kArray + kArray + (1 + 2 + 2) * kColumn);
}

TEST(SplitKernel, FusedIsTheKernelItself) {
  const std::vector<Kernel> steps = split_kernel(softmax(), Launches::kFused);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_DOUBLE_EQ(bytes(steps), 2 * kArray);
}

TEST(SplitKernel, DoesTheSameWorkPerOp) {
  const Kernel whole = softmax();
  double flops = 0, transcendentals = 0;
  for (const Kernel& step : split_kernel(whole, Launches::kPerOp)) {
    flops += step.work().flops;
    transcendentals += step.work().transcendentals;
  }
  EXPECT_DOUBLE_EQ(flops, whole.work().flops);
  EXPECT_DOUBLE_EQ(transcendentals, whole.work().transcendentals);
}

TEST(KernelSketch, ReductionsSayWhatTheyApply) {
  std::vector<Opcode> applied;
  const Kernel kernel = softmax();
  for (const Op& op : kernel.ops()) {
    if (op.opcode == Opcode::kReduce) applied.push_back(op.applied.value());
  }
  EXPECT_EQ(applied, (std::vector<Opcode>{Opcode::kMaximum, Opcode::kAdd}));
}

TEST(SplitKernel, RefusesProducts) {
  KernelSketch sketch("matmul", Opcode::kDot, LayoutRules{});
  const OpId a = sketch.parameter(DType::kF32, {8, 8});
  const OpId b = sketch.parameter(DType::kF32, {8, 8});
  const Kernel product = sketch.build({sketch.dot(
      a, b, DotDims{.lhs_contracting = {1}, .rhs_contracting = {0}}, {8, 8}, DType::kF32)});
  EXPECT_THROW((void)split_kernel(product, Launches::kPerOp), Error);
}

}  // namespace
}  // namespace tilecast::ir

// Modules that the verifier rejects, each a few lines.
#include "ir/verify/verifier.h"

#include <gmock/gmock.h>

#include <string>

#include "base/error.h"
#include "ir/text/module_parser.h"
#include "tests/support/errors.h"

namespace tilecast::ir {
namespace {

using testing::HasSubstr;

// "" if accepted, else the message.
std::string verdict(const std::string& hlo) {
  const base::SourceText text("t.hlo", hlo);
  const Module module = parse_unverified(text);
  return support::error_of([&] { verify(module, &text); }, "");
}

std::string entry(const std::string& body) {
  return "ENTRY e {\n" + body + "\n}\n";
}

Module chain_of_calls(std::size_t length) {
  Module module;
  module.name = "m";
  for (std::size_t i = 0; i < length; ++i) {
    Computation computation;
    computation.name = "c" + std::to_string(i);
    Instruction parameter;
    parameter.name = "p";
    parameter.shape = Shape::array(DType::kF32, {});
    parameter.attrs = ParameterAttrs{};
    computation.instructions.push_back(parameter);
    computation.parameters = {InstrId(0)};
    computation.root = InstrId(0);
    if (i > 0) {
      Instruction call = parameter;
      call.name = "call";
      call.opcode = Opcode::kCall;
      call.attrs = {};
      call.operands = {InstrId(0)};
      call.called = {ComputationId(i - 1)};
      computation.instructions.push_back(call);
      computation.root = InstrId(1);
    }
    module.computations.push_back(computation);
  }
  module.entry = ComputationId(length - 1);
  return module;
}

// ---- structure ---------------------------------------------------------------------------------

TEST(Verifier, PointsAtTheInstruction) {
  const std::string message =
      verdict(entry("  p = f32[4] parameter(0)\n  ROOT r = f32[5] copy(p)"));
  EXPECT_THAT(message, HasSubstr("t.hlo:3:8: error: Expected instruction to have shape equal to "
                                 "f32[4], actual shape is f32[5]"));
}

TEST(Verifier, NamesModuleComputationAndInstructionWithoutText) {
  Module module = chain_of_calls(2);
  module.computations[1].instructions[1].shape = Shape::array(DType::kF32, {2});
  EXPECT_THAT(support::error_of([&] { verify(module); }), testing::StartsWith("m.c1.call: "));
}

TEST(Verifier, AcceptsCallsUpToTheLimitOfDepth) {
  EXPECT_NO_THROW(verify(chain_of_calls(257)));
  EXPECT_THROW(verify(chain_of_calls(258)), Error);
}

TEST(Verifier, RefusesComputationsThatCallThemselves) {
  Module module = chain_of_calls(3);
  module.computations[0].instructions.push_back(module.computations[1].instructions[1]);
  module.computations[0].instructions[1].called = {ComputationId(2)};
  EXPECT_THAT([&] { verify(module); }, testing::ThrowsMessage<Error>(HasSubstr("calls itself")));
}

TEST(Verifier, RefusesCyclesOfDataAndControl) {
  Module module = chain_of_calls(2);
  module.computations[1].instructions[0].control_predecessors = std::vector{InstrId(1)};
  EXPECT_THAT([&] { verify(module); }, testing::ThrowsMessage<Error>(HasSubstr("cycle")));
}

TEST(Verifier, RefusesIdsOutOfRange) {
  Module operand = chain_of_calls(2);
  operand.computations[1].instructions[1].operands = {InstrId(7)};
  EXPECT_THROW(verify(operand), Error);
  Module callee = chain_of_calls(2);
  callee.computations[1].instructions[1].called = {ComputationId(9)};
  EXPECT_THROW(verify(callee), Error);
  Module root = chain_of_calls(1);
  root.computations[0].root = InstrId(3);
  EXPECT_THROW(verify(root), Error);
  EXPECT_THROW(verify(Module()), Error);
}

TEST(Verifier, RefusesParametersWithWrongNumbers) {
  Module module = chain_of_calls(1);
  module.computations[0].instructions[0].attrs = ParameterAttrs{.number = 1, .replication = ""};
  EXPECT_THAT([&] { verify(module); }, testing::ThrowsMessage<Error>(HasSubstr("not numbered")));
}

TEST(Verifier, RefusesShapesBeyondTwoToThe62Bytes) {
  Module module = chain_of_calls(1);
  Shape& shape = module.computations[0].instructions[0].shape;
  shape = Shape::array(DType::kF32, {std::int64_t{1} << 31, std::int64_t{1} << 28});
  EXPECT_NO_THROW(verify(module));
  shape = Shape::array(DType::kF32, {std::int64_t{1} << 31, std::int64_t{1} << 29});
  EXPECT_THROW(verify(module), Error);
  shape = Shape::array(DType::kF32, {0, INT64_MAX, INT64_MAX});
  EXPECT_THROW(verify(module), Error);
}

TEST(Verifier, RefusesLayoutsThatDoNotPermuteTheDimensions) {
  Module module = chain_of_calls(1);
  Shape& shape = module.computations[0].instructions[0].shape;
  shape = Shape::array(DType::kF32, {2, 3});
  shape.layout = default_layout(1);
  EXPECT_THAT([&] { verify(module); },
              testing::ThrowsMessage<Error>(HasSubstr("mismatched minor-to-major size")));
  shape.layout = default_layout(2);
  shape.layout.edit().minor_to_major = {1, 1};
  EXPECT_THROW(verify(module), Error);
}

TEST(Verifier, RefusesUnboundedDimensions) {
  EXPECT_THAT(verdict(entry("ROOT p = f32[?,8] parameter(0)")),
              HasSubstr("Unbounded dynamism is disabled"));
}

// ---- shapes ------------------------------------------------------------------------------------

TEST(Verifier, OrdersBroadcastDimensions) {
  const std::string hlo =
      entry("p = f32[2,3] parameter(0)\n ROOT r = f32[3,2] broadcast(p), dimensions={1,0}");
  EXPECT_THAT(verdict(hlo), HasSubstr("Broadcast dimensions should be ordered"));
}

TEST(Verifier, KeepsTheElementsOfReshapes) {
  EXPECT_THAT(verdict(entry("p = f32[6] parameter(0)\n ROOT r = f32[2,4] reshape(p)")),
              HasSubstr("from=6 (f32[6]) to=8 (f32[2,4])"));
}

// Modules that XLA rejects for reasons that do not affect time.
TEST(Verifier, AcceptsWhatChangesNoTime) {
  EXPECT_EQ(verdict(entry("p = f32[4,6]{1,0} parameter(0)\n q = bf16[4,6]{0,1:S(5)} bitcast(p)\n"
                          "ROOT r = f32[4,6]{0,1} add(p, q), sharding={maximal device=-1}")),
            "");
  EXPECT_EQ(verdict("f { p = f32[] parameter(0) ROOT n = f32[] negate(p) }, "
                    "execution_thread=\"side\"\n" +
                    entry("p = f32[] parameter(0)\n ROOT r = f32[] call(p), to_apply=f")),
            "");
}

// ---- calls -------------------------------------------------------------------------------------

TEST(Verifier, MatchesLoopsWithTheirState) {
  const std::string condition = "c { p = s32[] parameter(0) ROOT t = pred[] constant(true) }\n";
  const std::string body = "b { p = s32[] parameter(0) ROOT t = s32[] add(p, p) }\n";
  const std::string loop = " i = f32[] convert(n)\n ROOT r = f32[] while(i), condition=c, body=b";
  EXPECT_EQ(verdict(condition + body +
                    entry("n = s32[] parameter(0)\n"
                          "ROOT r = s32[] while(n), condition=c, body=b")),
            "");
  EXPECT_THAT(verdict(condition + body + entry("n = s32[] parameter(0)\n" + loop)),
              HasSubstr("shape does not match parameter"));
}

TEST(Verifier, MatchesFusionsWithTheirCallees) {
  const std::string callee = "f { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }\n";
  EXPECT_THAT(verdict(callee + entry("p = f32[5] parameter(0)\n"
                                     "ROOT r = f32[4] fusion(p), kind=kLoop, calls=f")),
              HasSubstr("Shape mismatch between parameter number 0"));
  EXPECT_THAT(verdict(callee + entry("p = f32[4] parameter(0)\n"
                                     "ROOT r = f32[2,2] fusion(p), kind=kLoop, calls=f")),
              HasSubstr("is not equal to the fusion shape"));
}

TEST(Verifier, ReducersTakeTheirElements) {
  const std::string reducer =
      "m { a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] add(a, b) }\n";
  EXPECT_THAT(verdict(reducer + entry("p = f32[4] parameter(0)\n z = f32[] constant(0)\n"
                                      "ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=m")),
              HasSubstr("differs from the init_value shape: s32[] vs f32[]"));
}

TEST(Verifier, SortsByAPredicateOfPairs) {
  const std::string compare =
      "c { a = f32[] parameter(0) b = s32[] parameter(1) ROOT t = pred[] constant(true) }\n";
  EXPECT_THAT(verdict(compare + entry("p = f32[4] parameter(0)\n"
                                      "ROOT r = f32[4] sort(p), dimensions={0}, to_apply=c")),
              HasSubstr("1-th parameter of the compare computation"));
}

// ---- asynchronous chains, collectives ----------------------------------------------------------

TEST(Verifier, StartsHaveOneDone) {
  const std::string start = "p = f32[4] parameter(0)\n s = (f32[4], f32[4], u32[]) copy-start(p)\n";
  EXPECT_EQ(verdict(entry(start + "ROOT d = f32[4] copy-done(s)")), "");
  EXPECT_THAT(verdict(entry(start + "ROOT d = f32[4] copy(p)")),
              HasSubstr("copy-start instruction requires one consumer, found 0"));
  EXPECT_THAT(verdict(entry(start + "ROOT d = f32[4] get-tuple-element(s), index=0")),
              HasSubstr("needs to be copy-done, found get-tuple-element"));
}

TEST(Verifier, NamesEveryReplicaOnce) {
  const auto gather = [](const std::string& groups) {
    return verdict(
        entry("p = f32[4] parameter(0)\n ROOT r = f32[8] all-gather(p), dimensions={0}, "
              "replica_groups=" +
              groups));
  };
  EXPECT_EQ(gather("{{0,1}}"), "");
  EXPECT_THAT(gather("{{0,0}}"), HasSubstr("Replica 0 is repeated"));
  EXPECT_THAT(gather("{{0,2}}"), HasSubstr("Replica 1 is not named"));
  EXPECT_THAT(gather("{{0,1,2}}"), HasSubstr("shard_count = 2, subgroup_size = 3"));
  EXPECT_THAT(gather("{{0,1},{2}}"), HasSubstr("uniform size"));
}

TEST(Verifier, CountsTheDeclaredPartitions) {
  EXPECT_THAT(
      verdict("HloModule m, num_partitions=8\n" +
              entry("p = f32[4] parameter(0)\n ROOT r = f32[16] all-gather(p), dimensions={0}, "
                    "replica_groups={{0,1,2,3}}, channel_id=1, use_global_device_ids=true")),
      HasSubstr("replica groups should contain 8 flattened IDs, but found 4"));
  EXPECT_THAT(verdict("HloModule m, num_partitions=3\n" +
                      entry("p = f32[4] parameter(0)\n ROOT r = f32[4] collective-permute(p), "
                            "source_target_pairs={{0,1},{1,5}}, channel_id=1")),
              HasSubstr("Target 5 in the instruction's source-target pair must be < 3"));
}

TEST(Verifier, PermutesFromEachSourceOnce) {
  EXPECT_THAT(verdict(entry("p = f32[4] parameter(0)\n ROOT r = f32[4] collective-permute(p), "
                            "source_target_pairs={{0,1},{0,2}}")),
              HasSubstr("Source 0 appears more than once"));
}

// ---- aliasing ----------------------------------------------------------------------------------

TEST(Verifier, AliasesPartsOfTheSameShape) {
  const auto call = [](const std::string& alias) {
    return verdict(
        entry("p = f32[4] parameter(0)\n ROOT r = (f32[4], f32[5]) custom-call(p), "
              "custom_call_target=\"f\", output_to_operand_aliasing={" +
              alias + "}"));
  };
  EXPECT_EQ(call("{0}: (0, {})"), "");
  EXPECT_THAT(call("{1}: (0, {})"), HasSubstr("Different aliasing shapes"));
  EXPECT_THAT(call("{2}: (0, {})"), HasSubstr("Invalid aliasing output shape index"));
  EXPECT_THAT(call("{0}: (1, {})"), HasSubstr("Invalid aliasing operand index"));
  EXPECT_THAT(call("{0}: (0, {0})"), HasSubstr("Invalid aliasing operand shape index"));
}

TEST(Verifier, KeepsTheEntryLayout) {
  EXPECT_THAT(verdict("HloModule m, entry_computation_layout={(f32[4]{0})->f32[5]{0}}\n" +
                      entry("ROOT p = f32[4] parameter(0)")),
              HasSubstr("should be compatible"));
}

}  // namespace
}  // namespace tilecast::ir

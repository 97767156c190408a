// StableHLO becomes the same module as HLO text.
#include "ir/stablehlo/stablehlo.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/hlo_printer.h"
#include "tests/ir/stablehlo_samples.h"

namespace tilecast::ir {
namespace {

using testing::HasSubstr;
using testing::Not;

Module read(const std::string& text, const ReadOptions& options = {}) {
  return parse_stablehlo(base::SourceText("test.mlir", text), options);
}

// Long HLO text: with operand shapes and metadata.
std::string hlo_of(const std::string& text, const ReadOptions& options = {}) {
  return print_hlo(read(text, options));
}

std::string error_of(const std::string& text, const ReadOptions& options = {}) {
  try {
    return hlo_of(text, options);
  } catch (const Error& error) {
    return error.what();
  }
}

// A function with one argument and one result.
std::string function(const std::string& argument, const std::string& body,
                     const std::string& result) {
  return "func.func @main(%arg0: " + argument + ") -> " + result + " {\n" + body +
         "\n  return %r : " + result + "\n}\n";
}

TEST(StableHlo, FunctionsBecomeComputationsThatAreCalledOnce) {
  const Module module = read(kFunctions);
  const std::string hlo = print_hlo(module);
  ASSERT_EQ(module.computations.size(), 2U) << hlo;  // without @unused, with @twice once
  EXPECT_EQ(module.name, "m");
  EXPECT_EQ(module.num_partitions, 2);
  EXPECT_EQ(module.replica_count, 4);
  EXPECT_THAT(hlo, HasSubstr("input_output_alias={ {1}: (0, {}, may-alias) }"));
  EXPECT_THAT(hlo, HasSubstr("buffer_donor={ (1, {}) }"));
  EXPECT_THAT(hlo, HasSubstr("parameter(0), sharding={replicated}"));
  EXPECT_THAT(hlo, HasSubstr("lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
                             "operand_precision={highest,default}, "
                             "algorithm=dot_tf32_tf32_f32_x3, "
                             "metadata={op_name=\"jit(f)/dot\" source_file=\"f.py\" "
                             "source_line=12}"));
}

TEST(StableHlo, HloTextOfItIsTheSameModule) {
  for (const std::string& text : {kFunctions, kLoop, kDevices, kWindows, kCustomCalls, kManual}) {
    const std::string hlo = hlo_of(text);
    EXPECT_EQ(print_hlo(parse_hlo(base::SourceText("again.hlo", hlo))), hlo);
  }
}

TEST(StableHlo, LoopsCarryWhatTheyUseFromOutsideExceptConstants) {
  const Module module = read(kLoop);
  const Instruction* loop = nullptr;
  const Instruction* branch = nullptr;
  for (const Instruction& each : module.entry_computation().instructions) {
    if (each.opcode == Opcode::kWhile) loop = &each;
    if (each.opcode == Opcode::kConditional) branch = &each;
  }
  ASSERT_TRUE(loop != nullptr && branch != nullptr);
  EXPECT_EQ(to_string(loop->shape, false), "(s32[], f32[4], f32[4])");  // and %arg1
  // The first branch takes two values, the second takes one.
  EXPECT_EQ(to_string(module.at(branch->called[0]).root_instruction().shape, false), "f32[4]");
  const Computation& entry = module.entry_computation();
  EXPECT_EQ(to_string(entry.at(branch->operands[1]).shape, false), "(f32[4], f32[4])");
  EXPECT_EQ(to_string(entry.at(branch->operands[2]).shape, false), "f32[4]");
}

TEST(StableHlo, SizesFollowFromTheBound) {
  const std::string hlo = hlo_of(kDynamic, {.bound = 8});
  EXPECT_THAT(hlo, HasSubstr("(s64[], f32[8,3]{1,0})->f32[16,3]{1,0}"));
  EXPECT_THAT(hlo, Not(HasSubstr("get-dimension-size")));  // computed on reading
  const std::string error = error_of(kDynamic);
  EXPECT_THAT(error, HasSubstr("test.mlir:1:37: error: argument %arg1 is tensor<?x3xf32>"));
  EXPECT_THAT(error, HasSubstr("--bound"));
}

TEST(StableHlo, SizesThatOnlyRunningTellsAreTheBoundWithAWarning) {
  const std::string text =
      function("tensor<4xi32>",
               "  %r = stablehlo.custom_call @nonzero(%arg0) : (tensor<4xi32>) -> tensor<?xi32>",
               "tensor<?xi32>");
  const Module module = read(text, {.bound = 3});
  EXPECT_EQ(to_string(module.entry_computation().root_instruction().shape, false), "s32[3]");
  EXPECT_THAT(module.warnings, testing::Contains(HasSubstr("--bound")));
  EXPECT_THAT(error_of(text), HasSubstr("test.mlir:2:"));
}

TEST(StableHlo, ReplicaGroupsComeFromAxesOfTheMesh) {
  const std::string hlo = hlo_of(kDevices);
  // 2 x 4 devices, row-major: x changes by 4; the inner half of y changes by 1.
  EXPECT_THAT(hlo, HasSubstr("channel_id=3, replica_groups={{0,4},{1,5},{2,6},{3,7}}, "
                             "use_global_device_ids=true"));
  EXPECT_THAT(hlo, HasSubstr("channel_id=4, replica_groups={{0,1},{2,3},{4,5},{6,7}}"));
}

TEST(StableHlo, AllToAllOfTwoDimensionsIsReshapedAsXlaDoes) {
  const std::string hlo = hlo_of(kDevices);
  EXPECT_THAT(hlo, HasSubstr("f32[8,16]{1,0} all-to-all(f32[8,16]{1,0} %arg0), "
                             "replica_groups={{0,1}}, dimensions={0}"));
  EXPECT_THAT(hlo, HasSubstr("f32[2,4,16]{2,1,0} reshape("));
  EXPECT_THAT(hlo, HasSubstr("f32[4,2,16]{2,1,0} transpose("));
  EXPECT_THAT(hlo, HasSubstr("f32[4,32]{1,0} reshape("));
}

TEST(StableHlo, DimensionNumbersAndWindows) {
  const std::string hlo = hlo_of(kWindows);
  EXPECT_THAT(hlo,
              HasSubstr("window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"));
  EXPECT_THAT(hlo, HasSubstr("window={size=1x2x2x1}, to_apply=%region_0"));
  EXPECT_THAT(hlo, HasSubstr("constant(-inf)"));
  EXPECT_THAT(hlo, HasSubstr("offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
                             "index_vector_dim=1, slice_sizes={1,4}, indices_are_sorted=true"));
  EXPECT_THAT(hlo, HasSubstr("update_window_dims={1}, inserted_window_dims={0}, "
                             "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
                             "unique_indices=true, to_apply=%region_1"));
  EXPECT_THAT(hlo, HasSubstr("dimensions={0}, is_stable=true, to_apply=%region_2"));
  EXPECT_THAT(hlo, HasSubstr("direction=LT, type=TOTALORDER"));
}

TEST(StableHlo, CustomCallsKeepLayoutsAliasesAndConfiguration) {
  EXPECT_THAT(
      hlo_of(kCustomCalls),
      HasSubstr("(f64[4,4]{0,1}, s32[]) custom-call(f64[4,4]{1,0} %arg1), "
                "custom_call_target=\"cusolver_potrf_ffi\", "
                "operand_layout_constraints={f64[4,4]{0,1}}, "
                "api_version=API_VERSION_TYPED_FFI, "
                "output_to_operand_aliasing={{0}: (0, {})}, backend_config={lower = true}"));
}

TEST(StableHlo, QuantisedArithmeticIsDoneOnRealNumbers) {
  const std::string hlo = hlo_of(kCustomCalls);
  EXPECT_THAT(hlo, HasSubstr("constant(-3)"));                        // zero point of the type
  EXPECT_THAT(hlo, HasSubstr("constant(-128)"));                      // minimum that i8 stores
  EXPECT_THAT(hlo, HasSubstr("f32[3]{0} constant({0.25, 0.5, 1})"));  // scales along dimension 1
  EXPECT_THAT(hlo, HasSubstr("f32[2,3]{1,0} negate(f32[2,3]{1,0}"));
  EXPECT_THAT(hlo, HasSubstr("s8[2,3]{1,0} convert("));
}

TEST(StableHlo, ManualComputationsRunOnTheShapesOfTheParts) {
  const Module module = read(kManual);
  const std::string hlo = print_hlo(module);
  EXPECT_THAT(hlo, HasSubstr("f32[4,4]{1,0} erf("));
  EXPECT_THAT(hlo, HasSubstr("custom_call_target=\"xla.sdy.GlobalToLocalShape\""));
  EXPECT_THAT(hlo, HasSubstr("custom_call_target=\"Sharding\""));
  EXPECT_THAT(hlo, HasSubstr("(f32[8,2]{1,0}, s32[8,2]{1,0}) topk("));
  EXPECT_THAT(module.warnings, testing::Contains(HasSubstr("sdy.mesh")));
}

TEST(StableHlo, SizesOfOneAreReshapedAwayBeforeTheyGrow) {
  const std::string hlo = hlo_of(
      function("tensor<1x4xf32>",
               "  %r = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<1x4xf32>) -> "
               "tensor<3x4xf32>",
               "tensor<3x4xf32>"));
  EXPECT_THAT(hlo, HasSubstr("f32[4]{0} reshape("));
  EXPECT_THAT(hlo, HasSubstr("dimensions={1}"));
}

TEST(StableHlo, UnorderedBroadcastsAreTransposedFirst) {
  EXPECT_THAT(hlo_of(function("tensor<2x3xf32>",
                              "  %r = stablehlo.broadcast_in_dim %arg0, dims = [1, 0] : "
                              "(tensor<2x3xf32>) -> tensor<3x2xf32>",
                              "tensor<3x2xf32>")),
              HasSubstr("f32[3,2]{1,0} transpose("));
}

TEST(StableHlo, ConstantsAsHloTextHasThem) {
  const auto constant = [](const std::string& value, const std::string& type) {
    return hlo_of("func.func @main() -> " + type + " {\n  %r = stablehlo.constant " + value +
                  " : " + type + "\n  return %r : " + type + "\n}\n");
  };
  EXPECT_THAT(constant("dense<[[1, 2], [3, 4]]>", "tensor<2x2xi32>"),
              HasSubstr("s32[2,2]{1,0} constant({ { 1, 2 }, { 3, 4 } })"));
  EXPECT_THAT(constant("dense<true>", "tensor<i1>"), HasSubstr("pred[] constant(true)"));
  EXPECT_THAT(constant("dense<(1.0,-2.5)>", "tensor<complex<f32>>"),
              HasSubstr("c64[] constant((1, -2.5))"));
  EXPECT_THAT(constant("dense<\"0x0000803F\">", "tensor<f32>"), HasSubstr("f32[] constant(1)"));
  // One repeated number is a broadcast; many numbers are omitted.
  EXPECT_THAT(constant("dense<2.0>", "tensor<16x16xf32>"), HasSubstr("broadcast(f32[] %constant"));
  EXPECT_THAT(constant("dense_resource<__elided__>", "tensor<16x16xf32>"),
              HasSubstr("f32[16,16]{1,0} constant({...})"));
}

TEST(StableHlo, TheSignOfZeroSurvivesHloText) {
  const std::string hlo =
      "HloModule m\n\nENTRY %e () -> f32[] {\n  ROOT %c = f32[] constant(-0)\n}\n";
  EXPECT_THAT(print_hlo(parse_hlo(base::SourceText("zero.hlo", hlo))), HasSubstr("constant(-0)"));
}

TEST(StableHlo, SpecialFunctionsHaveTheirTranscendentals) {
  const std::string hlo =
      hlo_of(function("tensor<4xf32>", "  %r = chlo.erf_inv %arg0 : tensor<4xf32> -> tensor<4xf32>",
                      "tensor<4xf32>"));
  EXPECT_THAT(hlo, HasSubstr("log-plus-one("));
  EXPECT_THAT(hlo, HasSubstr("sqrt("));
  EXPECT_THAT(
      hlo_of(function("tensor<4xf32>", "  %r = chlo.tan %arg0 : tensor<4xf32> -> tensor<4xf32>",
                      "tensor<4xf32>")),
      HasSubstr(" tan("));
}

TEST(StableHlo, OpsOfOtherDialectsAreOpaqueWithAWarning) {
  const std::string text = function(
      "tensor<4xf32>", "  %r = \"enzymexla.rotate\"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>",
      "tensor<4xf32>");
  const Module module = read(text);
  EXPECT_THAT(print_hlo(module), HasSubstr("custom_call_target=\"enzymexla.rotate\""));
  EXPECT_THAT(module.warnings, testing::Contains(HasSubstr("enzymexla.rotate")));
  EXPECT_THAT(error_of(text, {.strict = true}), HasSubstr("enzymexla.rotate has no HLO form"));
}

TEST(StableHlo, ChecksKeepWhatTheyCheckAlive) {
  EXPECT_THAT(hlo_of("func.func @main(%arg0: tensor<2xf32>) {\n"
                     "  %0 = stablehlo.tanh %arg0 : tensor<2xf32>\n"
                     "  check.expect_eq %0, %arg0 : tensor<2xf32>\n  return\n}\n"),
              HasSubstr("custom_call_target=\"check.expect_eq\", "
                        "custom_call_has_side_effect=true"));
}

TEST(StableHlo, ErrorsStandWhereTheOpDoes) {
  // An op that StableHLO does not have.
  EXPECT_THAT(error_of(function("tensor<4xf32>",
                                "  %r = \"stablehlo.frobnicate\"(%arg0) : (tensor<4xf32>) -> "
                                "tensor<4xf32>",
                                "tensor<4xf32>")),
              HasSubstr("test.mlir:2:8: error: stablehlo.frobnicate has no HLO form"));
  // A printed shape that differs from the inferred one.
  const std::string wrong =
      error_of(function("tensor<2x3xf32>",
                        "  %r = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> "
                        "tensor<2x3xf32>",
                        "tensor<2x3xf32>"));
  EXPECT_THAT(wrong, HasSubstr("test.mlir:2:8: error:"));
  EXPECT_THAT(wrong, HasSubstr("f32[3,2]"));
  EXPECT_THAT(wrong, HasSubstr("\n       ^"));
  EXPECT_THAT(error_of("func.func @main() {\n  func.call @main() : () -> ()\n  return\n}\n"),
              HasSubstr("calls itself"));
  EXPECT_THAT(error_of("module {}"), HasSubstr("no function"));
}

TEST(StableHlo, AFunctionWithoutResultsGivesAnEmptyTuple) {
  const Module module = read("func.func @main(%arg0: tensor<4xf32>) {\n  return\n}\n");
  EXPECT_EQ(to_string(module.entry_computation().root_instruction().shape, false), "()");
}

}  // namespace
}  // namespace tilecast::ir

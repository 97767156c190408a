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

// --- Tests one by one all ops of the StableHLO specification that other tests do not cover.

struct OpCase {
  std::string arguments;  // of the function that contains the op
  std::string body;       // defines %r, and %r:2 if the op has two results
  std::string type;       // of the first result
  std::string hlo;        // expected part of the HLO text
};

const OpCase kCases[] = {
    {"%arg0: tensor<3x4xf32>, %arg1: tensor<3xf32>",
     R"(%r:2 = chlo.scan(%arg0) inits(%arg1) dimension=1 attributes {is_reverse = true} {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %s = stablehlo.add %a, %b : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
} : (tensor<3x4xf32>, tensor<3xf32>) -> (tensor<3x4xf32>, tensor<3xf32>))",
     "tensor<3x4xf32>", "dimensions={1}, num_carries=1, is_reverse=true, to_apply=%region_0"},
    {"%arg0: tensor<1x8x8x4xf32>, %arg1: tensor<3x3x4x16xf32>",
     R"(%r = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, feature_group_count = 1 : i64,
  dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3,
  input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2,
  kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1],
  output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [2, 1]>
} : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x6x6x16xf32>)",
     "tensor<1x6x6x16xf32>", "dim_labels=b01f_01io->b10f"},
    {"%arg0: tensor<2x2xi64>, %arg1: tensor<2x2xi64>",
     R"(%r = "stablehlo.map"(%arg0, %arg1) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %m = stablehlo.multiply %a, %b : tensor<i64>
    stablehlo.return %m : tensor<i64>
}) {dimensions = array<i64: 0, 1>} : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi64>)",
     "tensor<2x2xi64>",
     "map(s64[2,2]{1,0} %arg0, s64[2,2]{1,0} %arg1), dimensions={0,1}, to_apply=%region_0"},
    {"%arg0: tensor<4x2xi64>, %arg1: tensor<2x2xi64>, %arg2: tensor<i64>",
     R"(%r = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %0 = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    "stablehlo.return"(%0) : (tensor<i1>) -> ()
}, {
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %0 = "stablehlo.add"(%a, %b) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    "stablehlo.return"(%0) : (tensor<i64>) -> ()
}) {window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>, padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>} : (tensor<4x2xi64>, tensor<2x2xi64>, tensor<i64>) -> tensor<4x2xi64>)",
     "tensor<4x2xi64>",
     "window={size=3x1 stride=2x1 pad=0_1x0_0}, select=%region_0, scatter=%region_1"},
    {"%arg0: tensor<i32>",
     R"(%c = stablehlo.constant dense<3> : tensor<2xi64>
%r:2 = "stablehlo.case"(%arg0) ({
  "stablehlo.return"(%c, %c) : (tensor<2xi64>, tensor<2xi64>) -> ()
}, {
  "stablehlo.return"(%c, %c) : (tensor<2xi64>, tensor<2xi64>) -> ()
}) : (tensor<i32>) -> (tensor<2xi64>, tensor<2xi64>))",
     "tensor<2xi64>", "branch_computations={%region_0, %region_1}"},
    {"%arg0: tensor<2x2x2xf64>, %arg1: tensor<2xf64>, %arg2: tensor<2xf64>",
     R"(%r, %m, %v = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) {epsilon = 0.0 : f32, feature_index = 2 : i64} : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>))",
     "tensor<2x2x2xf64>", "batch-norm-training("},
    {"%arg0: tensor<2x2x2xf64>, %arg1: tensor<2xf64>, %arg2: tensor<2xf64>, %arg3: tensor<2xf64>, "
     "%arg4: tensor<2x2x2xf64>",
     R"(%r, %m, %v = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.0 : f32, feature_index = 2 : i64} : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x2x2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>))",
     "tensor<2x2x2xf64>", "epsilon=0, feature_index=2"},
    {"%arg0: tensor<3x3xf32>",
     R"(%r = "stablehlo.cholesky"(%arg0) {lower = true} : (tensor<3x3xf32>) -> tensor<3x3xf32>)",
     "tensor<3x3xf32>", "lower=true"},
    {"%arg0: tensor<2x2xi64>",
     R"(%r = "stablehlo.count_leading_zeros"(%arg0) : (tensor<2x2xi64>) -> tensor<2x2xi64>)",
     "tensor<2x2xi64>", "count-leading-zeros("},
    {"%arg0: tensor<1x2xi64>",
     R"(%r = "stablehlo.collective_broadcast"(%arg0) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>} : (tensor<1x2xi64>) -> tensor<1x2xi64>)",
     "tensor<1x2xi64>", "collective-broadcast(s64[1,2]{1,0} %arg0), replica_groups={{1,0}}"},
    {"%arg0: tensor<4xcomplex<f32>>",
     R"(%r = "stablehlo.fft"(%arg0) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 4>} : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>)",
     "tensor<4xcomplex<f32>>", "fft_type=FFT, fft_length={4}"},
    {"%arg0: tensor<2x8xf32>",
     R"(%r = stablehlo.fft %arg0, type = RFFT, length = [8] : (tensor<2x8xf32>) -> tensor<2x5xcomplex<f32>>)",
     "tensor<2x5xcomplex<f32>>", "c64[2,5]{1,0} fft(f32[2,8]{1,0} %arg0), fft_type=RFFT"},
    {"%arg0: !stablehlo.token",
     R"(%r, %t = "stablehlo.infeed"(%arg0) {infeed_config = "", layout = [[0, 1]]} : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token))",
     "tensor<2x2xi64>", "((s64[2,2]{1,0}), token[]) infeed(token[] %arg0)"},
    {"%arg0: tensor<2x2x2xi64>, %arg1: !stablehlo.token",
     R"(%r = "stablehlo.outfeed"(%arg0, %arg1) {outfeed_config = ""} : (tensor<2x2x2xi64>, !stablehlo.token) -> !stablehlo.token)",
     "!stablehlo.token", "outfeed_shape=s64[2,2,2]{2,1,0}"},
    {"%arg0: tensor<2x2xi64>, %arg1: !stablehlo.token",
     R"(%r = "stablehlo.send"(%arg0, %arg1) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<2x2xi64>, !stablehlo.token) -> !stablehlo.token)",
     "!stablehlo.token", "send-done("},
    {"%arg0: !stablehlo.token",
     R"(%r, %t = "stablehlo.recv"(%arg0) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token))",
     "tensor<2x2xi64>", "(s64[2,2]{1,0}, token[]) recv-done("},
    {"%arg0: tensor<f32>, %arg1: tensor<f32>",
     R"(%s = stablehlo.constant dense<[3, 3]> : tensor<2xi64>
%r = "stablehlo.rng"(%arg0, %arg1, %s) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x3xf32>)",
     "tensor<3x3xf32>", "distribution=rng_uniform"},
    {"%arg0: tensor<2xui64>",
     R"(%s, %r = "stablehlo.rng_bit_generator"(%arg0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui64>))",
     "tensor<2x2xui64>", "algorithm=rng_three_fry"},
    {"%arg0: tensor<4xf32>, %arg1: tensor<i32>",
     R"(%r = "stablehlo.set_dimension_size"(%arg0, %arg1) {dimension = 0 : i64} : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>>)",
     "tensor<?xf32, #stablehlo.bounds<4>>", "f32[<=4]{0} set-dimension-size("},
    {"%arg0: !stablehlo.token, %arg1: !stablehlo.token",
     R"(%r = stablehlo.after_all %arg0, %arg1 : !stablehlo.token)", "!stablehlo.token",
     "after-all(token[] %arg0, token[] %arg1)"},
    {"%arg0: tensor<f32>", R"(%r = stablehlo.create_token : !stablehlo.token)", "!stablehlo.token",
     "token[] after-all()"},
    {"%arg0: tensor<2xf32>, %arg1: tensor<3xf32>",
     R"(%r:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<2xf32>, tensor<3xf32>)",
     "tensor<2xf32>", "opt-barrier((f32[2]{0}, f32[3]{0})"},
    {"%arg0: tensor<2x3xi64>, %arg1: tensor<i64>",
     R"(%l = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
%h = stablehlo.constant dense<[2, 1]> : tensor<2xi64>
%i = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
%r = "stablehlo.dynamic_pad"(%arg0, %arg1, %l, %h, %i) : (tensor<2x3xi64>, tensor<i64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<5x9xi64>)",
     "tensor<5x9xi64>", "padding=0_2_1x1_1_2"},
    {"%arg0: tensor<3x4x2xi32>, %arg1: tensor<2x3x2xi64>",
     R"(%s = stablehlo.constant dense<[1, 2, 2]> : tensor<3xi64>
%r = "stablehlo.dynamic_gather"(%arg0, %arg1, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], start_index_map = [0, 2], index_vector_dim = 2>, indices_are_sorted = false} : (tensor<3x4x2xi32>, tensor<2x3x2xi64>, tensor<3xi64>) -> tensor<2x3x2x2xi32>)",
     "tensor<2x3x2x2xi32>", "slice_sizes={1,2,2}"},
    {"%arg0: tensor<f32>",
     R"(%s = stablehlo.constant dense<[4, 5]> : tensor<2xi64>
%r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> tensor<4x5xi64>)",
     "tensor<4x5xi64>", "s64[4,5]{1,0} iota(), iota_dimension=0"},
    {"%arg0: tensor<2x2xi64>",
     R"(%r = "stablehlo.collective_permute"(%arg0) {source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>} : (tensor<2x2xi64>) -> tensor<2x2xi64>)",
     "tensor<2x2xi64>", "source_target_pairs={{0,1},{1,2}}"},
    {"%arg0: tensor<4xf32>, %arg1: tensor<5xf32>",
     R"(%r:2 = "stablehlo.all_reduce"(%arg0, %arg1) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%0) : (tensor<f32>) -> ()
}) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>} : (tensor<4xf32>, tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>))",
     "tensor<4xf32>", "(f32[4]{0}, f32[5]{0}) all-reduce("},
    {"%arg0: tensor<4xf32>",
     R"(%r = "stablehlo.all_reduce"(%arg0) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%0) : (tensor<f32>) -> ()
}) {replica_groups = dense<> : tensor<0x0xi64>} : (tensor<4xf32>) -> tensor<4xf32>)",
     "tensor<4xf32>", "replica_groups={}, to_apply"},
    {"%arg0: tensor<2x4xi64>",
     R"(%r = "stablehlo.reduce_scatter"(%arg0) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %0 = "stablehlo.add"(%a, %b) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    "stablehlo.return"(%0) : (tensor<i64>) -> ()
}) {scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>} : (tensor<2x4xi64>) -> tensor<2x2xi64>)",
     "tensor<2x2xi64>", "s64[2,2]{1,0} reduce-scatter("},
    {"%arg0: tensor<2x2xi64>, %arg1: tensor<2x2xi64>",
     R"(%r:2 = "stablehlo.all_gather"(%arg0, %arg1) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xi64>, tensor<2x2xi64>) -> (tensor<2x4xi64>, tensor<2x4xi64>))",
     "tensor<2x4xi64>", "(s64[2,4]{1,0}, s64[2,4]{1,0}) all-gather("},
    {"%arg0: tensor<2x4xi64>, %arg1: tensor<2x4xi64>",
     R"(%r:2 = "stablehlo.all_to_all"(%arg0, %arg1) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x4xi64>, tensor<2x4xi64>) -> (tensor<4x2xi64>, tensor<4x2xi64>))",
     "tensor<4x2xi64>", "s64[4,2]{1,0} reshape(s64[2,2,2]{2,1,0}"},
    {"%arg0: tensor<2x3xi64>, %arg1: tensor<2x3xi64>",
     R"(%r:2 = "stablehlo.sort"(%arg0, %arg1) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>, %c: tensor<i64>, %d: tensor<i64>):
    %p = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    "stablehlo.return"(%p) : (tensor<i1>) -> ()
}) {dimension = -1 : i64, is_stable = true} : (tensor<2x3xi64>, tensor<2x3xi64>) -> (tensor<2x3xi64>, tensor<2x3xi64>))",
     "tensor<2x3xi64>", "dimensions={1}, is_stable=true"},
    {"%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xi32>",
     R"(%c = stablehlo.constant dense<0.0> : tensor<f32>
%d = stablehlo.constant dense<0> : tensor<i32>
%r:2 = stablehlo.reduce(%arg0 init: %c), (%arg1 init: %d) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
 reducer(%a: tensor<f32>, %b: tensor<f32>) (%e: tensor<i32>, %f: tensor<i32>) {
  %m = stablehlo.maximum %a, %b : tensor<f32>
  %n = stablehlo.maximum %e, %f : tensor<i32>
  stablehlo.return %m, %n : tensor<f32>, tensor<i32>
})",
     "tensor<2xf32>", "(f32[2]{0}, s32[2]{0}) reduce("},
    {"%arg0: tensor<2x3xbf16>",
     R"(%c = stablehlo.constant dense<0.0> : tensor<f32>
%r = "stablehlo.reduce"(%arg0, %c) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%0) : (tensor<f32>) -> ()
}) {dimensions = array<i64: 1>} : (tensor<2x3xbf16>, tensor<f32>) -> tensor<2xf32>)",
     "tensor<2xf32>", "f32[2]{0} reduce(bf16[2,3]{1,0} %arg0"},
    {"%arg0: tensor<f32>",
     R"(%r = stablehlo.composite "my.op" %arg0 {composite_attributes = {a = 1 : i32}, decomposition = @dec, version = 1 : i32} : (tensor<f32>) -> tensor<f32>)",
     "tensor<f32>",
     R"(is_composite=true, frontend_attributes={composite.attributes="{a = 1 : i32}",composite.name="my.op",composite.version="1"})"},
    {"%arg0: tensor<4x4xi32>, %arg1: tensor<i64>, %arg2: tensor<i64>",
     R"(%r = stablehlo.dynamic_slice %arg0, %arg1, %arg2, sizes = [2, 2] : (tensor<4x4xi32>, tensor<i64>, tensor<i64>) -> tensor<2x2xi32>)",
     "tensor<2x2xi32>", "dynamic_slice_sizes={2,2}"},
    {"%arg0: tensor<f64>",
     R"(%r = stablehlo.bitcast_convert %arg0 : (tensor<f64>) -> tensor<4xf16>)", "tensor<4xf16>",
     "f16[4]{0} bitcast-convert(f64[] %arg0)"},
    {"%arg0: tensor<i32>, %arg1: tensor<3xi32>, %arg2: tensor<i32>",
     R"(%r = stablehlo.clamp %arg0, %arg1, %arg2 : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>)",
     "tensor<3xi32>", "clamp(s32[3]{0} %broadcast"},
    {"%arg0: tensor<i1>, %arg1: tensor<3xi32>, %arg2: tensor<3xi32>",
     R"(%r = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<3xi32>)", "tensor<3xi32>",
     "select(pred[3]{0} %broadcast"},
    {"%arg0: tensor<2xf32>, %arg1: tensor<i32>",
     R"(%t = stablehlo.tuple %arg0, %arg1 : tuple<tensor<2xf32>, tensor<i32>>
%r = stablehlo.get_tuple_element %t[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>)",
     "tensor<2xf32>", "(f32[2]{0}, s32[]) tuple("},
    {"%arg0: tensor<2xf32>, %arg1: tensor<2xf32>",
     R"(%r = chlo.zeta %arg0, %arg1 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>)",
     "tensor<2xf32>", "power("},
    {"%arg0: tensor<2xf32>, %arg1: tensor<2xf32>",
     R"(%r = chlo.polygamma %arg0, %arg1 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>)",
     "tensor<2xf32>", "exponential("},
    {"%arg0: tensor<2xf32>", R"(%r = chlo.bessel_i1e %arg0 : tensor<2xf32> -> tensor<2xf32>)",
     "tensor<2xf32>", "rsqrt("},
    {"%arg0: tensor<2xf32>", R"(%r = chlo.erfc %arg0 : tensor<2xf32> -> tensor<2xf32>)",
     "tensor<2xf32>", "subtract(f32[2]{0} %broadcast"},
    {"%arg0: tensor<2xf32>", R"(%r = chlo.square %arg0 : tensor<2xf32> -> tensor<2xf32>)",
     "tensor<2xf32>", "multiply(f32[2]{0} %arg0, f32[2]{0} %arg0)"},
    {"%arg0: tensor<2xcomplex<f32>>",
     R"(%r = chlo.conj %arg0 : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>)",
     "tensor<2xcomplex<f32>>", "complex("},
    {"%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>",
     R"(%r = chlo.broadcast_add %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>)",
     "tensor<2x3xf32>", "f32[2,3]{1,0} broadcast(f32[3]{0} %arg1), dimensions={1}"},
    {"%arg0: tensor<2x3xf32>",
     R"(%r = "chlo.constant_like"(%arg0) {value = 1.5 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>)",
     "tensor<2x3xf32>", "constant(1.5)"},
    {"%arg0: tensor<11x5xf32>, %arg1: tensor<3x5x7xf32>, %arg2: tensor<3xi64>",
     R"(%r = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>)",
     "tensor<11x7xf32>", "lhs_ragged_dims={0}, rhs_group_dims={0}"},
    {"%arg0: tensor<4x8xf32>",
     R"(%r, %i = "chlo.top_k"(%arg0) <{k = 3 : i64}> : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>))",
     "tensor<4x3xf32>", "k=3, largest=true"},
    {"%arg0: tensor<2x3xf8E4M3FN>, %arg1: tensor<3x4xf8E5M2>",
     R"(%r = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<2x3xf8E4M3FN>, tensor<3x4xf8E5M2>) -> tensor<2x4xf32>)",
     "tensor<2x4xf32>", "dot(f8e4m3fn[2,3]{1,0} %arg0, f8e5m2[3,4]{1,0} %arg1)"},
    {"%arg0: tensor<2x3xi4>",
     R"(%r = stablehlo.convert %arg0 : (tensor<2x3xi4>) -> tensor<2x3xbf16>)", "tensor<2x3xbf16>",
     "convert(s4[2,3]{1,0} %arg0)"},
    {"%arg0: tensor<2x3xf32>, %arg1: tensor<3x4x!quant.uniform<i8:f32, 0.5>>",
     R"(%r = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x4xf32>)",
     "tensor<2x4xf32>", "dot(f32[2,3]{1,0} %arg0, s8[3,4]{1,0} %arg1)"},
    {"%arg0: tensor<2x!quant.uniform<i8:f32, 0.5>>",
     R"(%r = stablehlo.add %arg0, %arg0 : tensor<2x!quant.uniform<i8:f32, 0.5>>)",
     "tensor<2x!quant.uniform<i8:f32, 0.5>>", "add(f32[2]{0} %multiply"},
    {"%arg0: tensor<i32>",
     R"(%r = stablehlo.while(%i = %arg0) : tensor<i32>
 cond {
  %c = stablehlo.constant dense<4> : tensor<i32>
  %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1>
 } do {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.add %i, %c : tensor<i32>
  stablehlo.return %n : tensor<i32>
 })",
     "tensor<i32>", "s32[] while(s32[] %arg0), condition=%region_0, body=%region_1"},
    {"%arg0: tensor<4xf32>",
     R"(%r = "stablehlo.all_reduce"(%arg0) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%0) : (tensor<f32>) -> ()
}) {replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>)",
     "tensor<4xf32>", "replica_groups={{0,1},{2}}"},
    {"%arg0: tensor<4xf32>, %arg1: tensor<4xf32>",
     R"(%r = stablehlo.dot %arg0, %arg1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>)",
     "tensor<f32>", "f32[] dot("}};

TEST(StableHloOps, HaveTheirHloForm) {
  for (const auto& [arguments, body, type, hlo] : kCases) {
    const std::string result = body.find("%r:2 =") == std::string::npos ? "%r" : "%r#0";
    const std::string text = "func.func @main(" + arguments + ") -> " + type + " {\n" + body +
                             "\nreturn " + result + " : " + type +
                             "\n}\nfunc.func private @dec(%arg0: tensor<f32>) -> tensor<f32> {\n"
                             "return %arg0 : tensor<f32>\n}\n";
    EXPECT_THAT(print_hlo(parse_stablehlo(base::SourceText("op.mlir", text))),
                testing::HasSubstr(hlo))
        << text;
  }
}
}  // namespace
}  // namespace tilecast::ir

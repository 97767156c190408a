// MLIR text: every pretty form gives the tree of its generic form; errors state place and reason.
#include "ir/mlir/mlir_parser.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <deque>

#include "base/error.h"
#include "tests/ir/mlir_tree_text.h"
#include "tests/support/errors.h"

namespace tilecast::ir::mlir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Tree parse(const std::string& text) {
  static std::deque<base::SourceText> kept;  // trees point into their text
  return parse_mlir(kept.emplace_back("test.mlir", text));
}

const Operation& last_op(const Tree& tree) {
  return tree.module.regions[0].blocks[0].operations.back();
}

std::string error_of(const std::string& text) {
  return support::error_of([&] { parse(text); });
}

// The types of the values %0, %1 ... that both texts of a twin may use.
constexpr const char* kTypes[] = {
    "tensor<4xf32>",       "tensor<4xf32>",       "tensor<f32>",     "tensor<2x3xf32>",
    "tensor<i1>",          "tensor<i32>",         "tensor<4x?xf32>", "tensor<3x5xf32>",
    "tensor<1x8x8x3xf32>", "tensor<3x3x3x4xf32>", "tensor<4xi32>",   "tensor<2xui64>",
    "!shape.witness",      "tensor<?xf32>",       "index",           "i64"};

struct Twin {
  std::string pretty, generic;
};

// Both texts give one tree.
void expect_equal(const std::vector<Twin>& twins) {
  std::string values;
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    values += fmt::format("%{} = \"test.make\"() : () -> {}\n", i, kTypes[i]);
  }
  for (const auto& [pretty, generic] : twins) {
    const std::string before = pretty.find('%') == std::string::npos ? "" : values;
    EXPECT_EQ(tree_text(parse(before + pretty)), tree_text(parse(before + generic))) << pretty;
  }
}

TEST(Twins, Elementwise) {
  expect_equal({
      {"%r = stablehlo.add %0, %1 : tensor<4xf32>",
       R"(%r = "stablehlo.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>)"},
      {"%r = mhlo.add %0, %1 {a = 1 : i32} : tensor<4xf32> loc(\"x\")",
       R"(%r = "mhlo.add"(%0, %1) {a = 1 : i32} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>)"},
      {"%r = stablehlo.convert %0 : (tensor<4xf32>) -> tensor<4xbf16>",
       R"(%r = "stablehlo.convert"(%0) : (tensor<4xf32>) -> tensor<4xbf16>)"},
      {"%r = chlo.erf %0 : tensor<4xf32> -> tensor<4xf32>",
       R"(%r = "chlo.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32>)"},
      {"%r = stablehlo.compare LT, %0, %1, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> "
       "tensor<4xi1>",
       R"(%r = "stablehlo.compare"(%0, %1) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>)"},
      {"%r = stablehlo.select %4, %0, %1 : tensor<i1>, tensor<4xf32>",
       R"(%r = "stablehlo.select"(%4, %0, %1) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>)"},
      {"%r = stablehlo.complex %0, %1 : tensor<4xcomplex<f32>>",
       R"(%r = "stablehlo.complex"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>)"},
      {"%r = stablehlo.reduce_precision %0, format = e5m10 : tensor<4xf32>",
       R"(%r = "stablehlo.reduce_precision"(%0) {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : (tensor<4xf32>) -> tensor<4xf32>)"},
      {"%r:2 = stablehlo.optimization_barrier %0, %3 : tensor<4xf32>, tensor<2x3xf32>",
       R"(%r:2 = "stablehlo.optimization_barrier"(%0, %3) : (tensor<4xf32>, tensor<2x3xf32>) -> (tensor<4xf32>, tensor<2x3xf32>))"},
  });
}

TEST(Twins, Shapes) {
  expect_equal({
      {"%r = stablehlo.constant dense<[1, 2]> : tensor<2xi32>",
       R"(%r = "stablehlo.constant"() <{value = dense<[1, 2]> : tensor<2xi32>}> : () -> tensor<2xi32>)"},
      {"%r = stablehlo.constant() {value = dense<1> : tensor<i8>} : () -> tensor<i8>",
       R"(%r = "stablehlo.constant"() {value = dense<1> : tensor<i8>} : () -> tensor<i8>)"},
      {"%r = stablehlo.iota dim = 1 : tensor<2x3xf32>",
       R"(%r = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<2x3xf32>)"},
      {"%r = stablehlo.slice %3 [0:1, 0:3:2] : (tensor<2x3xf32>) -> tensor<1x2xf32>",
       R"(%r = "stablehlo.slice"(%3) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 3>, strides = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<1x2xf32>)"},
      {"%r = stablehlo.transpose %3, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
       R"(%r = "stablehlo.transpose"(%3) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>)"},
      {"%r = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<4xf32>",
       R"(%r = "stablehlo.broadcast_in_dim"(%2) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>)"},
      {"%r = stablehlo.reverse %3, dims = [1] : tensor<2x3xf32>",
       R"(%r = "stablehlo.reverse"(%3) {dimensions = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>)"},
      {"%r = stablehlo.concatenate %0, %1, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> "
       "tensor<8xf32>",
       R"(%r = "stablehlo.concatenate"(%0, %1) {dimension = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>)"},
      {"%r = stablehlo.pad %0, %2, low = [1], high = [-1], interior = [2] : (tensor<4xf32>, "
       "tensor<f32>) -> tensor<10xf32>",
       R"(%r = "stablehlo.pad"(%0, %2) {edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: -1>, interior_padding = array<i64: 2>} : (tensor<4xf32>, tensor<f32>) -> tensor<10xf32>)"},
      {"%r = stablehlo.dynamic_slice %0, %5, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> "
       "tensor<2xf32>",
       R"(%r = "stablehlo.dynamic_slice"(%0, %5) {slice_sizes = array<i64: 2>} : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>)"},
      {"%r = stablehlo.tuple %0, %3 : tuple<tensor<4xf32>, tensor<2x3xf32>>\n"
       "%s = stablehlo.get_tuple_element %r[1] : (tuple<tensor<4xf32>, tensor<2x3xf32>>) -> "
       "tensor<2x3xf32>",
       R"(%r = "stablehlo.tuple"(%0, %3) : (tensor<4xf32>, tensor<2x3xf32>) -> tuple<tensor<4xf32>, tensor<2x3xf32>>
                %s = "stablehlo.get_tuple_element"(%r) {index = 1 : i32} : (tuple<tensor<4xf32>, tensor<2x3xf32>>) -> tensor<2x3xf32>)"},
      {"%r = stablehlo.get_dimension_size %6, dim = 1 : (tensor<4x?xf32>) -> tensor<i32>",
       R"(%r = "stablehlo.get_dimension_size"(%6) {dimension = 1 : i64} : (tensor<4x?xf32>) -> tensor<i32>)"},
  });
}

TEST(Twins, LargeOps) {
  expect_equal({
      {"%r = stablehlo.dot_general %3, %7, batching_dims = [] x [], contracting_dims = [1] x "
       "[0], precision = [HIGH, DEFAULT], algorithm = <lhs_precision_type = tf32, "
       "num_primitive_operations = 3, allow_imprecise_accumulation = false> : "
       "(tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>",
       R"(%r = "stablehlo.dot_general"(%3, %7) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, num_primitive_operations = 3, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>)"},
      {"%r = stablehlo.convolution(%8, %9)\n dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, "
       "1, f],\n window = {stride = [2, 2], pad = [[0, 1], [0, 1]], rhs_dilate = [1, 1], "
       "reverse = [false, true]}\n {feature_group_count = 1 : i64, batch_group_count = 1 : "
       "i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32>",
       R"(%r = "stablehlo.convolution"(%8, %9) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, window_strides = array<i64: 2, 2>, padding = dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, true>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32>)"},
      {"%r = stablehlo.reduce(%3 init: %2) applies stablehlo.maximum across dimensions = [0, "
       "1] {x} : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>",
       R"(%r = "stablehlo.reduce"(%3, %2) <{dimensions = array<i64: 0, 1>}> ({
                ^bb0(%a: tensor<f32>, %b: tensor<f32>):
                  %m = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
                  "stablehlo.return"(%m) : (tensor<f32>) -> ()
                }) {x} : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>)"},
      {R"(%r:2 = stablehlo.reduce(%0 init: %2), (%10 init: %5) across dimensions = [0] : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
                 reducer(%a: tensor<f32> loc("r"), %b: tensor<f32> loc("r")) (%c: tensor<i32>, %d: tensor<i32>)  {
                   stablehlo.return %b, %c : tensor<f32>, tensor<i32>
                 })",
       R"(%r:2 = "stablehlo.reduce"(%0, %10, %2, %5) <{dimensions = array<i64: 0>}> ({
                ^bb0(%a: tensor<f32>, %c: tensor<i32>, %b: tensor<f32>, %d: tensor<i32>):
                  "stablehlo.return"(%b, %c) : (tensor<f32>, tensor<i32>) -> ()
                }) : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>))"},
      {R"(%r:2 = stablehlo.while(%i = %4, %j = %0) : tensor<i1>, tensor<4xf32> attributes {k = 1 : i64}
                cond { stablehlo.return %i : tensor<i1> }
                do { stablehlo.return %i, %j : tensor<i1>, tensor<4xf32> })",
       R"(%r:2 = "stablehlo.while"(%4, %0) ({
                ^bb0(%i: tensor<i1>, %j: tensor<4xf32>): "stablehlo.return"(%i) : (tensor<i1>) -> ()
                }, {
                ^bb0(%i: tensor<i1>, %j: tensor<4xf32>): "stablehlo.return"(%i, %j) : (tensor<i1>, tensor<4xf32>) -> ()
                }) {k = 1 : i64} : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>))"},
      {"%r:2 = stablehlo.custom_call @\"a b\"(%0) {has_side_effect = true} : (tensor<4xf32>) "
       "-> (tensor<4xf32>, !stablehlo.token)",
       R"(%r:2 = "stablehlo.custom_call"(%0) {call_target_name = "a b", has_side_effect = true} : (tensor<4xf32>) -> (tensor<4xf32>, !stablehlo.token))"},
      {"%v, %i = chlo.top_k(%0, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)",
       R"(%v, %i = "chlo.top_k"(%0) {k = 2 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>))"},
      {R"(%r:2 = chlo.scan(%0) inits(%2) dimension=0 attributes {is_reverse = true} {
                ^bb0(%a: tensor<f32>, %b: tensor<f32>): stablehlo.return %a, %b : tensor<f32>, tensor<f32>
                } : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>))",
       R"(%r:2 = "chlo.scan"(%0, %2) <{dimension = 0 : i64, is_reverse = true}> ({
                ^bb0(%a: tensor<f32>, %b: tensor<f32>): "stablehlo.return"(%a, %b) : (tensor<f32>, tensor<f32>) -> ()
                }) : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>))"},
      {"stablehlo.trace %0, \"a tag\" : tensor<4xf32>\nstablehlo.optimization_barrier()",
       R"("stablehlo.trace"(%0) {tag = "a tag"} : (tensor<4xf32>) -> ()
                "stablehlo.optimization_barrier"() : () -> ())"},
      {"%r = stablehlo.after_all : !stablehlo.token",
       R"(%r = "stablehlo.after_all"() : () -> !stablehlo.token)"},
      {"%r = stablehlo.fft %0, type =  RFFT, length = [4] : (tensor<4xf32>) -> "
       "tensor<3xcomplex<f32>>",
       R"(%r = "stablehlo.fft"(%0) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 4>} : (tensor<4xf32>) -> tensor<3xcomplex<f32>>)"},
      {"%r = stablehlo.composite \"a.b\" %0 {decomposition = @f} : (tensor<4xf32>) -> "
       "tensor<4xf32>",
       R"(%r = "stablehlo.composite"(%0) {name = "a.b", decomposition = @f} : (tensor<4xf32>) -> tensor<4xf32>)"},
      {"%s, %o = stablehlo.rng_bit_generator %11, algorithm =  DEFAULT : (tensor<2xui64>) -> "
       "(tensor<2xui64>, tensor<ui64>)",
       R"(%s, %o = "stablehlo.rng_bit_generator"(%11) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui64>))"},
  });
}

TEST(Twins, OtherDialects) {
  expect_equal({
      {"%r = call @f(%0) : (tensor<4xf32>) -> tensor<4xf32>",
       R"(%r = "func.call"(%0) {callee = @f} : (tensor<4xf32>) -> tensor<4xf32>)"},
      {"func.func private @f(%x: tensor<4xf32> {a = 1 : i8}) -> (tensor<4xf32> {b}) "
       "attributes {c} { return %x : tensor<4xf32> }",
       R"("func.func"() <{sym_name = "f", sym_visibility = "private", function_type = (tensor<4xf32>) -> tensor<4xf32>, arg_attrs = [{a = 1 : i8}], res_attrs = [{b}]}> ({
                ^bb0(%x: tensor<4xf32>): "func.return"(%x) : (tensor<4xf32>) -> ()
                }) {c} : () -> ())"},
      {"module @m attributes {a = 1 : i64} {}",
       R"("builtin.module"() <{sym_name = "m"}> ({}) {a = 1 : i64} : () -> ())"},
      {"check.expect_eq_const %2, dense<1.0> : tensor<f32>\n"
       "check.expect_eq(%2, %2) : tensor<f32>",
       R"("check.expect_eq_const"(%2) {value = dense<1.0> : tensor<f32>} : (tensor<f32>) -> ()
                "check.expect_eq"(%2, %2) : (tensor<f32>, tensor<f32>) -> ())"},
      {"%r = shape.assuming %12 -> (tensor<f32>) { shape.assuming_yield %2 : tensor<f32> }",
       R"(%r = "shape.assuming"(%12) ({ "shape.assuming_yield"(%2) : (tensor<f32>) -> () }) : (!shape.witness) -> tensor<f32>)"},
      {"util.global private @\"a b\" {noinline} = dense<1.0> : tensor<4xf32>\n"
       "%r = util.global.address @\"a b\" : !util.ptr<tensor<4xf32>>\n"
       "%s = util.global.load.indirect %r : !util.ptr<tensor<4xf32>> -> tensor<4xf32>",
       R"("util.global"() {sym_name = "a b", private, noinline, initial_value = dense<1.0> : tensor<4xf32>} : () -> ()
                %r = "util.global.address"() {global = @"a b"} : () -> !util.ptr<tensor<4xf32>>
                %s = "util.global.load.indirect"(%r) : (!util.ptr<tensor<4xf32>>) -> tensor<4xf32>)"},
      {"%r = tensor.dim %13, %14 : tensor<?xf32>",
       R"(%r = "tensor.dim"(%13, %14) : (tensor<?xf32>, index) -> index)"},
      {"%r = tensor.from_elements %15, %15 : tensor<2xi64>",
       R"(%r = "tensor.from_elements"(%15, %15) : (i64, i64) -> tensor<2xi64>)"},
      {"%r = tensor.extract %4[] : tensor<i1>",
       R"(%r = "tensor.extract"(%4) : (tensor<i1>) -> i1)"},
      {"%r = arith.index_cast %14 : index to i64",
       R"(%r = "arith.index_cast"(%14) : (index) -> i64)"},
      {"%r = arith.constant 7 : i32\n%s = arith.constant true",
       R"(%r = "arith.constant"() {value = 7 : i32} : () -> i32
                %s = "arith.constant"() {value = true} : () -> i1)"},
      {"sdy.mesh @mesh = <[\"a\"=2]>",
       R"("sdy.mesh"() {sym_name = "mesh", mesh = #sdy.mesh<["a"=2]>} : () -> ())"},
      {"%r = sdy.manual_computation(%0) in_shardings=[<@m, [{\"a\"}]>] out_shardings=[<@m, "
       "[{\"a\"}]>] manual_axes={\"a\"} (%x: tensor<4xf32>) { sdy.return %x : tensor<4xf32> } "
       ": (tensor<4xf32>) -> tensor<4xf32>",
       R"(%r = "sdy.manual_computation"(%0) <{in_shardings = #sdy.sharding_per_value<[<@m, [{"a"}]>]>, out_shardings = #sdy.sharding_per_value<[<@m, [{"a"}]>]>, manual_axes = #sdy<manual_axes{"a"}>}> ({
                ^bb0(%x: tensor<4xf32>): "sdy.return"(%x) : (tensor<4xf32>) -> ()
                }) : (tensor<4xf32>) -> tensor<4xf32>)"},
  });
}

TEST(MlirParser, TypesAreShapes) {
  const Tree tree = parse(
      R"(%0:6 = "test.make"() : () -> (tensor<2x?xbf16, #stablehlo.bounds<?, 4>>, tuple<tensor<i1>, !stablehlo.token>, tensor<3x!quant.uniform<i8:f32, 0.5:-3>>, index, (i32) -> none, tensor<2x!quant.uniform<ui8:f32:0, {1.0}>>))");
  const Operation& op = last_op(tree);
  EXPECT_EQ(tree.type_of(op.result(0)).shape, Shape::array(DType::kBF16, {2, kUnboundedSize}));
  EXPECT_EQ(tree.type_of(op.result(0)).encoding, "#stablehlo.bounds<?, 4>");
  EXPECT_EQ(tree.type_of(op.result(1)).shape,
            Shape::tuple({Shape::array(DType::kPred, {}), Shape::token()}));
  EXPECT_EQ(tree.type_of(op.result(2)).shape, Shape::array(DType::kS8, {3}));
  EXPECT_EQ(tree.type_of(op.result(2)).quantised, "!quant.uniform<i8:f32, 0.5:-3>");
  EXPECT_EQ(tree.type_of(op.result(5)).shape, Shape::array(DType::kU8, {2}));
  EXPECT_EQ(tree.type_of(op.result(3)).kind, Type::Kind::kScalar);
  EXPECT_THAT(tree.type_of(op.result(4)).inputs, SizeIs(1));
}

TEST(MlirParser, AliasesMayBeDefinedAtTheEnd) {
  const Tree tree = parse(
      "%0 = \"a.b\"() {x = #map} : () -> !t loc(#loc2)\n"
      "#map = array<i64: 3>\n!t = tensor<4xf32>\n"
      "#loc1 = loc(\"f.py\":3:1)\n#loc2 = loc(\"jit(f)/add\"(#loc1))\n");
  EXPECT_EQ(last_op(tree).find("x")->elements[0].integer, 3);
  EXPECT_EQ(tree.type_of(last_op(tree).result(0)).shape, Shape::array(DType::kF32, {4}));
  EXPECT_EQ(last_op(tree).location, "\"jit(f)/add\"(#loc1)");
  EXPECT_EQ(tree.locations.at("#loc1"), "\"f.py\":3:1");
}

TEST(MlirParser, AliasesBelongToTheirPartOfTheFile) {
  const std::string part = "\"a.b\"() {x = #n} : () -> !t\n";
  const Tree tree =
      parse("#n = 1 : i32\n!t = i8\n" + part + "// -----\n" + part + "#n = 2 : i32\n!t = i16\n");
  EXPECT_EQ(last_op(tree).find("x")->integer, 2);
  EXPECT_EQ(tree.type_of(last_op(tree).result(0)).text, "i16");
  EXPECT_EQ(tree.module.regions[0].blocks[0].operations.front().find("x")->integer, 1);
  EXPECT_THAT(error_of("#n = 1\n#n = 2\n" + part), HasSubstr("2:1: error: an alias is defined"));
}

TEST(MlirParser, NamesAreVisibleInTheirRegionOnly) {
  const std::string inner = "\"a.b\"() ({ %0 = \"a.c\"() : () -> i32 }) : () -> ()\n";
  EXPECT_THAT(parse(inner + inner + "%0 = \"a.c\"() : () -> i32").values, SizeIs(3));
  EXPECT_THAT(error_of(inner + "\"a.d\"(%0) : (i32) -> ()"), HasSubstr("2:7: error: %0 is used"));
}

TEST(MlirParser, OpsOfUnknownDialectsAreKept) {
  const Tree tree = parse(
      "llvm.func local @f(i32, ...) -> !llvm.ptr attributes {a = \"}\"}\n"
      "llvm.func local @malloc(i64) -> !llvm.ptr loc(\"x\")\n"
      "%0 = \"a.c\"() : () -> i32\n"
      "%1:2 = foo.bar @x(%0, [%0]) {b} : (i32) -> (i32, i64) loc(\"x\")\n"
      "%2 = stablehlo.frobnicate %0, mode = FAST : i32\n");
  EXPECT_EQ(last_op(tree).name, "stablehlo.frobnicate");
  const Operation& foreign = tree.module.regions[0].blocks[0].operations[3];
  EXPECT_EQ(foreign.result_count, 2U);
  EXPECT_THAT(foreign.operands, SizeIs(1));
}

TEST(MlirParser, OpsOfUnknownDialectsEndWhereTheirBracketsAndTypesDo) {
  const base::SourceText text("x.mlir", R"(func.func @main(%x: tensor <4xi32>) {
  %a = foo.generic {maps = [affine_map<(d0) -> (d0)>],
      kinds = ["parallel"]}
      outs(%x : tensor<4xi32>) {
      ^bb0(%in: i32):
        foo.yield %in : i32
      } -> tensor<4xi32>
  %b = foo.constant
    dense<[[1, 2],
           [3, 4]]> : tensor<2x2xi32> -> tensor<2x?xi32>
  %c = foo.cast %a :
      tensor<4xi32> into tensor<4x1xi32>
  check.expect_eq_const(%a,
    dense<[1, 2,
           3, 4]> : tensor<4xi32>) : tensor<4xi32>
  check.expect_close %a, %a, max_ulp_difference = 3 : tensor<4xi32>, tensor<4xi32>
  foo.jump ^bb3
^bb3:  // of one block before
  cf.br ^bb4
^bb4:
  return
})");
  const Tree tree = parse_mlir(text);
  const auto& blocks = tree.module.regions[0].blocks[0].operations[0].regions[0].blocks;
  ASSERT_THAT(blocks, SizeIs(3));
  std::vector<std::string_view> names;
  for (const Operation& op : blocks[0].operations) names.push_back(op.name);
  EXPECT_THAT(names,
              testing::ElementsAre("foo.generic", "foo.constant", "foo.cast",
                                   "check.expect_eq_const", "check.expect_close", "foo.jump"));
  const auto type_of = [&](std::size_t op) {
    return tree.at(tree.values[blocks[0].operations[op].first_result.index()].type).text;
  };
  EXPECT_EQ(type_of(0), "tensor<4xi32>");
  EXPECT_EQ(type_of(1), "tensor<2x?xi32>");
  EXPECT_EQ(type_of(2), "tensor<4x1xi32>");
}

TEST(MlirParser, WhatFollowsTheModuleIsAWarning) {
  const Tree tree = parse("module {}\n---- END OF MLIR MODULE ----\n");
  EXPECT_THAT(tree.warnings,
              ElementsAre(HasSubstr("test.mlir:2:1: warning: text after the module is ignored")));
}

TEST(MlirParser, SeveralModulesStandInAnImplicitOne) {
  const Tree tree = parse("module @a {}\n// -----\nmodule @b {\n  module @c {}\n}\n");
  EXPECT_EQ(tree.module.find("sym_name"), nullptr);
  EXPECT_THAT(tree.module.regions[0].blocks[0].operations, SizeIs(2));
}

TEST(MlirParser, ErrorsSayWhereAndWhat) {
  const std::string make = "%0 = \"a.b\"() : () -> tensor<2xf32>\n";
  EXPECT_THAT(error_of(make + "%1 = stablehlo.add %0, %0 : tensor<3xf32>"),
              HasSubstr("test.mlir:2:6: error: operand 0 of stablehlo.add has type "
                        "tensor<2xf32>, not tensor<3xf32>\n%1 = stablehlo.add"));
  EXPECT_THAT(error_of(make + "%0 = \"a.b\"() : () -> i32"), HasSubstr("%0 is defined already"));
  EXPECT_THAT(error_of(make + "\"a.b\"(%0#1) : (i32) -> ()"), HasSubstr("%0 has 1 results"));
  EXPECT_THAT(error_of("%0:2 = \"a.b\"() : () -> i32"), HasSubstr("2 names for the 1 results"));
  EXPECT_THAT(error_of("%0 = frob"), HasSubstr("1:6: error: 'frob' is no operation"));
  EXPECT_THAT(error_of("%0 = foo.bar 1"), HasSubstr("cannot tell the result types of foo.bar"));
  EXPECT_THAT(error_of("module {"), HasSubstr("builtin.module is not closed"));
  EXPECT_THAT(error_of("\"a.b\"() {x, x} : () -> ()"), HasSubstr("attribute x is written twice"));
  EXPECT_THAT(error_of("\"a.b\"() {x = #y} : () -> ()"), HasSubstr("no such alias"));
  EXPECT_THAT(error_of("\"a.b\"() {x = \"y} : () -> ()"), HasSubstr("a string is not closed"));
  EXPECT_THAT(error_of(""), HasSubstr("expects a module"));
  EXPECT_THAT(error_of(std::string("module {}\0x", 11)), HasSubstr("1:10: error: a zero byte"));
}

TEST(MlirParser, NestingAndAliasesAreLimited) {
  EXPECT_THAT(error_of("\"a.b\"() {x = " + std::string(100'000, '[')), HasSubstr("128 levels"));
  std::string bomb = "\"a.b\"() {x = #a0} : () -> ()\n";
  for (int i = 0; i < 60; ++i) {
    bomb += fmt::format("#a{} = [#a{}, #a{}]\n", i, i + 1, i + 1);
  }
  EXPECT_THAT(error_of(bomb + "#a60 = 1"), HasSubstr("aliases stand for too much text"));
  std::string tuples = "%0 = \"a.b\"() : () -> !a0\n";
  for (int i = 0; i < 60; ++i) {
    tuples += fmt::format("!a{} = tuple<!a{}, !a{}>\n", i, i + 1, i + 1);
  }
  EXPECT_THAT(error_of(tuples + "!a60 = i32"), HasSubstr("more than 65536 elements"));
}

DenseValues dense(const std::string& values, const std::string& type, std::size_t most = 100) {
  const base::SourceText text("dense.mlir",
                              "\"a.b\"() {v = dense<" + values + "> : " + type + "} : () -> ()");
  const Tree tree = parse_mlir(text);
  const Attribute& value = *last_op(tree).find("v");
  return read_dense(value, tree.at(value.type), text, most);
}

TEST(ReadDense, ListsSplatsAndBytes) {
  EXPECT_THAT(dense("[[1, -2], [0x10, 4]]", "tensor<2x2xi16>").integers, ElementsAre(1, -2, 16, 4));
  EXPECT_THAT(dense("[true, false]", "tensor<2xi1>").integers, ElementsAre(1, 0));
  EXPECT_TRUE(dense("7", "tensor<4xi32>").splat);
  EXPECT_EQ(dense("7", "tensor<4xi32>").count, 1);
  EXPECT_THAT(dense("[1.5, 0x7FC0]", "tensor<2xbf16>", 1).numbers, SizeIs(1));
  EXPECT_THAT(dense("\"0x0000803F000000C0\"", "tensor<2xf32>").numbers, ElementsAre(1.0, -2.0));
  EXPECT_THAT(dense("\"0xFFFF0200\"", "tensor<2xi16>").integers, ElementsAre(-1, 2));
  EXPECT_THAT(dense("\"0x05\"", "tensor<5xi1>").integers, ElementsAre(1, 0, 1, 0, 0));
  EXPECT_TRUE(dense("\"0x003C\"", "tensor<9xf16>").splat);
  EXPECT_THAT(dense("[(1.5, -2.0)]", "tensor<1xcomplex<f32>>").numbers, ElementsAre(1.5, -2.0));
  EXPECT_THAT(dense("[0x3C00, 0xFC00]", "tensor<2xf16>").numbers, ElementsAre(1.0, -HUGE_VAL));
  EXPECT_EQ(dense("", "tensor<0x4xf32>").count, 0);
  EXPECT_TRUE(dense("__elided__", "tensor<4xf32>").elided);
}

TEST(ReadDense, BytesOfNarrowFloats) {
  EXPECT_THAT(dense("\"0x387E01\"", "tensor<3xf8E4M3FN>").numbers,
              ElementsAre(1.0, 448.0, std::ldexp(1.0, -9)));
  EXPECT_THAT(dense("\"0x3C7CFC\"", "tensor<3xf8E5M2>").numbers,
              ElementsAre(1.0, HUGE_VAL, -HUGE_VAL));
  EXPECT_THAT(dense("\"0x7F80\"", "tensor<2xf8E8M0FNU>").numbers, ElementsAre(1.0, 2.0));
  EXPECT_THAT(dense("\"0x070F\"", "tensor<2xf4E2M1FN>").numbers, ElementsAre(6.0, -6.0));
  for (const std::string type : {"f8E4M3FN", "f8E5M2FNUZ", "f8E8M0FNU"}) {
    const std::string pattern = type == "f8E4M3FN" ? "7F" : type == "f8E8M0FNU" ? "FF" : "80";
    EXPECT_TRUE(
        std::isnan(dense("\"0x" + pattern + "00\"", "tensor<2x" + type + ">").numbers.front()));
  }
}

TEST(ReadDense, WrongNumbersOfValuesAreErrors) {
  EXPECT_THROW(dense("[1, 2, 3]", "tensor<2xi32>"), Error);
  EXPECT_THROW(dense("[1, 2]", "tensor<1x2xi32>"), Error);
  EXPECT_THROW(dense("\"0x0102\"", "tensor<3xi8>"), Error);
  EXPECT_THROW(dense("\"0x0g\"", "tensor<1xi8>"), Error);
  EXPECT_THROW(dense("1.5", "tensor<2xi32>"), Error);
  EXPECT_THROW(dense("", "tensor<2xi32>"), Error);
}

}  // namespace
}  // namespace tilecast::ir::mlir

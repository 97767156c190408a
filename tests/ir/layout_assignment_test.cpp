#include "ir/layout_assignment.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace {

std::string laid_out(DType dtype, Dims dims, const LayoutRules& rules = {}) {
  Shape shape = Shape::array(dtype, std::move(dims));
  shape.layout = device_layout(shape, rules);
  return to_string(shape);
}

Module module_with(Shape shape) {
  Instruction parameter;
  parameter.name = "p";
  parameter.opcode = Opcode::kParameter;
  parameter.attrs = ParameterAttrs{};
  parameter.shape = std::move(shape);
  Computation computation;
  computation.name = "main";
  computation.instructions.push_back(parameter);
  Instruction copy = parameter;
  copy.name = "c";
  copy.opcode = Opcode::kCopy;
  copy.attrs = {};
  copy.operands = {InstrId(0)};
  computation.instructions.push_back(copy);
  computation.parameters = {InstrId(0)};
  computation.root = InstrId(1);
  Module module;
  module.name = "m";
  module.computations.push_back(computation);
  module.entry = ComputationId(0);
  return module;
}

const Shape& root_shape(const Module& module) {
  return module.entry_computation().root_instruction().shape;
}

TEST(LayoutAssignment, MatricesGetTheNativeTile) {
  EXPECT_EQ(laid_out(DType::kF32, {512, 768}), "f32[512,768]{1,0:T(8,128)}");
}

TEST(LayoutAssignment, NarrowTypesPackRowsIntoWords) {
  EXPECT_EQ(laid_out(DType::kBF16, {512, 768}), "bf16[512,768]{1,0:T(8,128)(2,1)}");
  EXPECT_EQ(laid_out(DType::kS8, {512, 768}), "s8[512,768]{1,0:T(8,128)(4,1)}");
  EXPECT_EQ(laid_out(DType::kS4, {512, 768}), "s4[512,768]{1,0:T(8,128)(8,1)E(4)}");
}

TEST(LayoutAssignment, FewRowsGetASmallerTile) {
  EXPECT_EQ(laid_out(DType::kF32, {1, 256}), "f32[1,256]{1,0:T(1,128)}");
  EXPECT_EQ(laid_out(DType::kF32, {3, 256}), "f32[3,256]{1,0:T(4,128)}");
  EXPECT_EQ(laid_out(DType::kBF16, {1, 256}), "bf16[1,256]{1,0:T(2,128)(2,1)}");
}

TEST(LayoutAssignment, VectorsGetAPowerOfTwoUpToTheLimit) {
  EXPECT_EQ(laid_out(DType::kF32, {10}), "f32[10]{0:T(128)}");
  EXPECT_EQ(laid_out(DType::kF32, {300}), "f32[300]{0:T(512)}");
  EXPECT_EQ(laid_out(DType::kF32, {5000}), "f32[5000]{0:T(1024)}");
  EXPECT_EQ(laid_out(DType::kBF16, {300}), "bf16[300]{0:T(512)(128)(2,1)}");
}

TEST(LayoutAssignment, ScalarsTakeOneRowOfLanes) {
  EXPECT_EQ(laid_out(DType::kF32, {}), "f32[]{:T(128)}");
  EXPECT_EQ(laid_out(DType::kBF16, {}), "bf16[]{:T(256)}");
}

TEST(LayoutAssignment, AThinArrayIsTurned) {
  EXPECT_EQ(laid_out(DType::kF32, {1024, 1}), "f32[1024,1]{0,1:T(1,128)}");
  EXPECT_EQ(laid_out(DType::kF32, {16, 4}), "f32[16,4]{0,1:T(4,128)}");
}

TEST(LayoutAssignment, SmallGainsDoNotChangeTheOrder) {
  // The other order would pad 1001 x 1000 slightly less.
  EXPECT_EQ(laid_out(DType::kF32, {1001, 1000}), "f32[1001,1000]{1,0:T(8,128)}");
}

TEST(LayoutAssignment, KeepsAGivenOrderThatPadsAsLittle) {
  Shape shape = Shape::array(DType::kF32, {128, 128});
  shape.layout = default_layout(2);
  shape.layout.edit().minor_to_major = {0, 1};
  EXPECT_EQ(device_layout(shape, {}).minor_to_major, (Dims{0, 1}));
}

TEST(LayoutAssignment, UntiledDevicesKeepPlainOrder) {
  LayoutRules rules;
  rules.tiled = false;
  EXPECT_EQ(laid_out(DType::kF32, {1024, 1}, rules), "f32[1024,1]{1,0}");
}

TEST(LayoutAssignment, EmptyAndUnboundedArraysGetALayoutToo) {
  EXPECT_EQ(laid_out(DType::kF32, {0, 128}), "f32[0,128]{1,0:T(1,128)}");
  EXPECT_EQ(laid_out(DType::kF32, {kUnboundedSize, 128}), "f32[?,128]{1,0:T(1,128)}");
}

TEST(LayoutAssignment, ModulesGetTilingsOnceAndKeepThem) {
  const Module plain = module_with(Shape::array(DType::kF32, {64, 256}));
  EXPECT_FALSE(has_device_layouts(plain));
  const Module tiled = assign_layouts(plain, {});
  EXPECT_TRUE(has_device_layouts(tiled));
  EXPECT_EQ(to_string(root_shape(tiled)), "f32[64,256]{1,0:T(8,128)}");
  LayoutRules other;
  other.sublanes = 16;
  EXPECT_EQ(root_shape(assign_layouts(tiled, other)), root_shape(tiled));
}

TEST(LayoutAssignment, TupleElementsGetTilingsToo) {
  const Module plain = module_with(Shape::tuple({Shape::array(DType::kF32, {64, 256})}));
  EXPECT_EQ(to_string(root_shape(assign_layouts(plain, {}))), "(f32[64,256]{1,0:T(8,128)})");
}

TEST(LayoutAssignment, UntiledDevicesDropTilings) {
  const Module tiled = assign_layouts(module_with(Shape::array(DType::kF32, {64, 256})), {});
  LayoutRules rules;
  rules.tiled = false;
  EXPECT_EQ(to_string(root_shape(assign_layouts(tiled, rules))), "f32[64,256]{1,0}");
}

// A 3x3 convolution of `images` images of 56 x 56 x 256.
std::string convolved(int images) {
  const std::string array = "bf16[" + std::to_string(images) + ",56,56,256]";
  const Module module = parse_hlo(base::SourceText("conv.hlo", R"(HloModule m
ENTRY main { x = )" + array + R"( parameter(0)
  w = bf16[3,3,256,256] parameter(1)
  ROOT y = )" + array + R"( convolution(x, w), window={size=3x3 pad=1_1x1_1},
      dim_labels=b01f_01io->b01f })"));
  return to_string(root_shape(assign_layouts(module, {})));
}

TEST(LayoutAssignment, ConvolutionsPutFeaturesAndImagesInTheMinorDimensions) {
  EXPECT_EQ(convolved(8), "bf16[8,56,56,256]{3,0,2,1:T(8,128)(2,1)}");
  EXPECT_EQ(convolved(2), "bf16[2,56,56,256]{3,0,2,1:T(2,128)(2,1)}");
}

TEST(LayoutAssignment, ASingleImagePutsASpatialDimensionInTheSublanes) {
  EXPECT_EQ(convolved(1), "bf16[1,56,56,256]{3,2,1,0:T(8,128)(2,1)}");
}

// The f32 array that a bf16 convolution reads through a convert.
std::string widened_input(int images, int features) {
  const std::string dims =
      "[" + std::to_string(images) + ",56,56," + std::to_string(features) + "]";
  const std::string depth = std::to_string(features);
  const Module module = parse_hlo(base::SourceText("conv.hlo", R"(HloModule m
ENTRY main { x = f32)" + dims + R"( parameter(0)
  h = bf16)" + dims + R"( convert(x)
  w = bf16[3,3,)" + depth + "," + depth + R"(] parameter(1)
  ROOT y = bf16)" + dims + R"( convolution(h, w), window={size=3x3 pad=1_1x1_1},
      dim_labels=b01f_01io->b01f })"));
  return to_string(assign_layouts(module, {}).entry_computation().at(InstrId(0)).shape);
}

TEST(LayoutAssignment, WideTypesFollowAConvolutionWhereThatPadsThemLittle) {
  EXPECT_EQ(widened_input(8, 256), "f32[8,56,56,256]{3,0,2,1:T(8,128)}");
  const double inflated = 128 / 4, own = 128.0 / 56;
  ASSERT_GT(inflated, 4 * own);
  EXPECT_EQ(widened_input(2, 4), "f32[2,56,56,4]{2,3,1,0:T(4,128)}");
}

TEST(LayoutAssignment, RefusesRulesThatAreNoSizes) {
  LayoutRules rules;
  rules.lanes = 0;
  EXPECT_THROW((void)device_layout(Shape::array(DType::kF32, {2, 2}), rules), Error);
}

}  // namespace
}  // namespace tilecast::ir

#include "ir/layout_assignment.h"

#include <gtest/gtest.h>

#include "base/error.h"

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
  copy.attrs = std::monostate{};
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
  // Turned it would pad 1001 x 1000 a little less.
  EXPECT_EQ(laid_out(DType::kF32, {1001, 1000}), "f32[1001,1000]{1,0:T(8,128)}");
}

TEST(LayoutAssignment, KeepsAGivenOrderThatPadsAsLittle) {
  Shape shape = Shape::array(DType::kF32, {128, 128});
  shape.layout = default_layout(2);
  shape.layout->minor_to_major = {0, 1};
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

TEST(LayoutAssignment, RefusesRulesThatAreNoSizes) {
  LayoutRules rules;
  rules.lanes = 0;
  EXPECT_THROW((void)device_layout(Shape::array(DType::kF32, {2, 2}), rules), Error);
}

}  // namespace
}  // namespace tilecast::ir

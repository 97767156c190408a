// What XLA:CPU's code costs, as formulas in the numbers of core_device().
#include "analytical/xla_cpu.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analytical/analytical_model.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr double kMemory = 10e9, kL2 = 100e9, kClock = 1e9;  // of core_device()
constexpr double kRounding = 1e-9;

hwdesc::Device xla_core() {
  hwdesc::Device device = core_device();
  device.fusion = hwdesc::Fusion::kXlaCpu;
  return device;
}

Estimate estimate(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return KernelAnalysis(kernel, device).estimate_best();
}

// x + x for f32[rows, 256], with the array and the result found in `cache`.
ir::Kernel doubled(std::int64_t rows, int cache) {
  ir::KernelBuilder builder("doubled", ir::Opcode::kAdd);
  ir::Shape shape = ir::Shape::array(ir::DType::kF32, {rows, 256});
  shape.layout = ir::default_layout(2);
  shape.layout.edit().cache = cache;
  const ir::OpId given = builder.parameter(shape, "p");
  ir::Op add;
  add.opcode = ir::Opcode::kAdd;
  add.shape = shape;
  add.operands = {given, given};
  return builder.build({builder.add(std::move(add), "r")});
}

TEST(XlaCpu, WhatACacheHoldsIsReadFromThere) {
  const double bytes = 4.0 * 1024 * 256;
  const Estimate far = estimate(doubled(1024, 0), xla_core());
  EXPECT_NEAR(far.time.value, 2 * bytes / kMemory, kRounding);
  EXPECT_DOUBLE_EQ(far.hbm_read.value, bytes);
  const Estimate near = estimate(doubled(1024, 1), xla_core());
  EXPECT_NEAR(near.time.value, 2 * bytes / kL2, kRounding);
  EXPECT_DOUBLE_EQ(near.hbm_read.value, 0);
  EXPECT_DOUBLE_EQ(near.hbm_write.value, 0);
}

TEST(XlaCpu, LoopsHaveNoTilesButRows) {
  const ir::Kernel kernel = transpose_kernel(512, 256);
  EXPECT_EQ(KernelAnalysis(kernel, xla_core()).tiles().size(), 1U);
  EXPECT_GT(KernelAnalysis(kernel, core_device()).tiles().size(), 1U);
}

TEST(XlaCpu, APlainComparisonCostsLessThanACall) {
  const SortedRows integers{.count = 3, .length = 1024, .integers = true};
  SortedRows floats = integers;
  floats.integers = false;
  EXPECT_DOUBLE_EQ(sort_cycles(integers), 3 * 1024 * 10 * 8);
  EXPECT_DOUBLE_EQ(sort_cycles(floats), 3 * 1024 * 10 * (8 + 38));
  SortedRows pairs = integers;
  pairs.operands = 2;
  EXPECT_DOUBLE_EQ(sort_cycles(pairs), 3 * 1024 * 10 * (8 + 38 + 6));
}

TEST(XlaCpu, ASelectionPassesOverTheRow) {
  const SortedRows best{.count = 2, .length = 1024, .selected = 1};
  EXPECT_DOUBLE_EQ(sort_cycles(best), 2 * (1024 * 4.3 + (std::log(1024.0) + 1) * 35));
}

TEST(XlaCpu, AGroupOfOneFeatureIsAProductForEveryTap) {
  const ConvolutionSizes sizes{
      .batch = 2, .side = 10, .input_features = 32, .features = 32, .groups = 32};
  const Estimate answer = estimate(convolution_kernel(sizes), xla_core());
  EXPECT_GE(answer.time.value, 2 * 10 * 10 * 32 * 9 * 9 / kClock);
  EXPECT_LE(answer.time.value, 2 * 10 * 10 * 32 * 9 * 9 / kClock * 1.1);
}

TEST(XlaCpu, ShortFloatsTakeConversions) {
  EXPECT_GT(rounding_cycles(ir::DType::kF32, ir::DType::kBF16), 0);
  EXPECT_GT(rounding_cycles(ir::DType::kBF16, ir::DType::kF32), 0);
  EXPECT_LT(rounding_cycles(ir::DType::kF32, ir::DType::kF16),
            rounding_cycles(ir::DType::kF32, ir::DType::kBF16));
  EXPECT_EQ(rounding_cycles(ir::DType::kS32, ir::DType::kF32), 0);
}

}  // namespace
}  // namespace tilecast::analytical::testing

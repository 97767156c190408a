#include "ir/kernels/kernel_split.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/kernels/kernel_sketch.h"

namespace tilecast::ir {
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

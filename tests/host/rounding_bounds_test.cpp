#include "tests/host/rounding_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "ir/kernels/kernel_sketch.h"
#include "tests/host/array_bytes.h"
#include "tests/interpreter/evaluate_ops.h"

namespace tilecast::host {
namespace {

using interpreter::Elements;
using ir::DType;
using ir::KernelSketch;
using ir::Opcode;
using ir::OpId;

constexpr ir::LayoutRules kDense{.tiled = false};
constexpr double kInf = std::numeric_limits<double>::infinity();

Bounded only_result(const ir::Kernel& kernel, const std::vector<Elements>& inputs) {
  return evaluate_with_bounds(kernel, inputs).at(0);
}

TEST(RoundingBounds, AreZeroForIntegersAndForWhatOnlyMoves) {
  KernelSketch sketch("moves", Opcode::kFusion, kDense);
  const OpId x = sketch.parameter(DType::kF32, {2, 3});
  const OpId n = sketch.parameter(DType::kS32, {2, 3});
  const ir::Kernel kernel =
      sketch.build({sketch.transpose(sketch.elementwise(Opcode::kNegate, {x})),
                    sketch.elementwise(Opcode::kMultiply, {n, n})});
  const std::vector<Elements> inputs = {{1, 2, 3, 4, 5, 0.1F}, {1, 2, 3, 4, 5, 6}};
  for (const Bounded& result : evaluate_with_bounds(kernel, inputs)) {
    EXPECT_EQ(result.bound, Elements(6, 0));
  }
}

// Sums in either direction, with each step rounded, are within the bound; with one term missing
// they are not.
TEST(RoundingBounds, HoldForSumsInAnyOrderAndNoticeAMissingTerm) {
  constexpr std::size_t kTerms = 999;
  KernelSketch sketch("sum", Opcode::kReduce, kDense);
  const OpId x = sketch.parameter(DType::kF32, {static_cast<std::int64_t>(kTerms)});
  const ir::Kernel kernel = sketch.build({sketch.reduce(x, Opcode::kAdd, 0)});
  Elements terms(kTerms);
  for (std::size_t i = 0; i < kTerms; ++i) {
    terms[i] = static_cast<float>(0.25 + 1.0 / static_cast<double>(i + 1));
  }
  const Bounded result = only_result(kernel, {terms});
  const auto rounded_sum = [](auto begin, auto end) {
    return std::accumulate(begin, end, 0.0F,
                           [](float sum, double term) { return sum + static_cast<float>(term); });
  };
  EXPECT_TRUE(agrees(rounded_sum(terms.begin(), terms.end()), result.value[0], result.bound[0]));
  EXPECT_TRUE(agrees(rounded_sum(terms.rbegin(), terms.rend()), result.value[0], result.bound[0]));
  EXPECT_FALSE(
      agrees(rounded_sum(terms.begin() + 1, terms.end()), result.value[0], result.bound[0]));
}

TEST(RoundingBounds, GrowWhereADifferenceCancels) {
  // (x + y) - x with y small compared to x: the error of the sum remains, its size does not.
  KernelSketch sketch("cancels", Opcode::kFusion, kDense);
  const OpId x = sketch.parameter(DType::kF32, {1}), y = sketch.parameter(DType::kF32, {1});
  const OpId sum = sketch.elementwise(Opcode::kAdd, {x, y});
  const ir::Kernel kernel = sketch.build({sketch.elementwise(Opcode::kSubtract, {sum, x})});
  const double u = unit_roundoff(DType::kF32);
  const Bounded result = only_result(kernel, {{1024}, {1}});
  EXPECT_GE(result.bound[0], 2 * u * 1025);
  EXPECT_LE(result.bound[0], 5 * u * 1025);
}

TEST(RoundingBounds, OpenUpAtAStepAndOnlyThere) {
  KernelSketch sketch("floor", Opcode::kFusion, kDense);
  const OpId x = sketch.parameter(DType::kF32, {2});
  const OpId tripled = sketch.elementwise(Opcode::kMultiply, {x, sketch.constant_like(x, "3")});
  const ir::Kernel kernel = sketch.build({sketch.elementwise(Opcode::kFloor, {tripled})});
  const double third = static_cast<float>(1.0 / 3);  // 3 * third may round to 1 or below
  const Bounded result = only_result(kernel, {{third, 0.5}});
  EXPECT_EQ(result.bound, (Elements{1, 0}));
}

TEST(RoundingBounds, AreInfiniteWhereRoundingDecidesEverything) {
  KernelSketch sketch("divides", Opcode::kFusion, kDense);
  const OpId x = sketch.parameter(DType::kF32, {1}), y = sketch.parameter(DType::kF32, {1});
  const OpId zero =
      sketch.elementwise(Opcode::kSubtract, {sketch.elementwise(Opcode::kAdd, {x, y}), x});
  const ir::Kernel kernel = sketch.build({sketch.elementwise(Opcode::kDivide, {x, zero})});
  EXPECT_EQ(only_result(kernel, {{1024}, {0x1p-20}}).bound[0], kInf);
}

TEST(RoundingBounds, AgreementKeepsNanAndInfinitiesApart) {
  EXPECT_TRUE(agrees(std::nan(""), std::nan(""), 0));
  EXPECT_FALSE(agrees(1, std::nan(""), 1));
  EXPECT_FALSE(agrees(std::nan(""), 1, 1));
  EXPECT_TRUE(agrees(kInf, kInf, 0));
  EXPECT_FALSE(agrees(kInf, 1, 100));
  EXPECT_TRUE(agrees(1.5, 1, 0.5));
  EXPECT_FALSE(agrees(1.5, 1, 0.25));
}

TEST(ArrayBytes, KeepEveryNumberOfAType) {
  const std::vector<std::pair<DType, Elements>> cases = {
      {DType::kPred, {0, 1}},
      {DType::kS8, {-128, 0, 127}},
      {DType::kU8, {0, 255}},
      {DType::kS32, {-0x1p31, 0x1p31 - 1}},
      {DType::kF16, {0, -1, 65504, 0x1p-14, 0x1p-24, 3 * 0x1p-24, 0.333251953125, kInf, -kInf}},
      {DType::kBF16, {0, -1, 0x1.FEp127, 0x1p-126, kInf, 1.5}},
      {DType::kF32, {0.1F, -0x1p-149, kInf}},
      {DType::kF64, {0.1, -0x1p-1074}}};
  for (const auto& [dtype, numbers] : cases) {
    const ir::Shape shape = ir::Shape::array(dtype, {static_cast<std::int64_t>(numbers.size())});
    EXPECT_EQ(from_bytes(shape, to_bytes(shape, numbers)), numbers) << ir::name(dtype);
  }
}

TEST(ArrayBytes, StandInTheOrderOfTheLayout) {
  ir::Shape shape = ir::Shape::array(DType::kU8, {2, 3});
  shape.layout = ir::default_layout(2);
  shape.layout.edit().minor_to_major = {0, 1};
  const Elements numbers = {1, 2, 3, 4, 5, 6};
  const std::vector<std::byte> bytes = to_bytes(shape, numbers);
  EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{1}, std::byte{4}, std::byte{2}, std::byte{5},
                                           std::byte{3}, std::byte{6}}));
  EXPECT_EQ(from_bytes(shape, bytes), numbers);
}

}  // namespace
}  // namespace tilecast::host

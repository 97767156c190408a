#include "ir/literal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilecast::ir {
namespace {

std::string counted(const Dims& dims) {
  std::string out;
  int next = 0;
  append_array_literal(out, dims, [&](std::string& text) { text += std::to_string(next++); });
  return out;
}

TEST(Literal, VectorsAreTightAndMatrixRowsAreSpaced) {
  EXPECT_EQ(counted({}), "0");
  EXPECT_EQ(counted({3}), "{0, 1, 2}");
  EXPECT_EQ(counted({2, 2}), "{ { 0, 1 }, { 2, 3 } }");
}

TEST(Literal, RowsOfOneElementAreTight) {
  EXPECT_EQ(counted({2, 1}), "{ {0}, {1} }");
}

TEST(Literal, EmptyArraysKeepTheirBraces) {
  EXPECT_EQ(counted({0}), "{}");
  EXPECT_EQ(counted({2, 0}), "{ {}, {} }");
}

TEST(Literal, FourDimensionsSayWhereTheyAre) {
  EXPECT_EQ(counted({1, 2, 1, 1}), "{ { /*i0=0*/ { /*i1=0*/ {0} }, { /*i1=1*/ {1} } } }");
}

TEST(Literal, FloatsPrintTheShorterFormThatReadsBack) {
  EXPECT_EQ(canonical_float(0.5, DType::kF32), "0.5");
  EXPECT_EQ(canonical_float(0.1, DType::kF32), "0.1");
  EXPECT_EQ(canonical_float(1.0 / 3, DType::kF32), "0.333333343");
  EXPECT_EQ(canonical_float(1.0 / 3, DType::kF64), "0.33333333333333331");
  EXPECT_EQ(canonical_float(1e30, DType::kF32), "1e+30");
  EXPECT_EQ(canonical_float(-0.0, DType::kF32), "-0");
}

TEST(Literal, NarrowFloatsPrintTheRoundedValue) {
  EXPECT_EQ(canonical_float(0.1, DType::kBF16), "0.1001");
  EXPECT_EQ(canonical_float(0.1, DType::kF16), "0.099976");
  EXPECT_EQ(canonical_float(0.3, DType::kF8E5M2), "0.31");
}

TEST(Literal, NonFiniteValuesHaveNames) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(canonical_float(kInf, DType::kF32), "inf");
  EXPECT_EQ(canonical_float(-kInf, DType::kBF16), "-inf");
  EXPECT_EQ(canonical_float(std::nan(""), DType::kF32), "nan");
}

TEST(Literal, RoundingGoesToTheNearestAndTiesToEven) {
  // bf16 has 7 mantissa bits: its step at 1 is 2^-7.
  constexpr double kStep = 1.0 / 128;
  EXPECT_EQ(round_to(1 + 0.25 * kStep, DType::kBF16), 1);
  EXPECT_EQ(round_to(1 + 0.5 * kStep, DType::kBF16), 1);
  EXPECT_EQ(round_to(1 + 1.5 * kStep, DType::kBF16), 1 + 2 * kStep);
}

TEST(Literal, SmallNumbersRoundToSubnormals) {
  constexpr double kSmallestF16 = 0x1p-24;
  EXPECT_EQ(round_to(0.4 * kSmallestF16, DType::kF16), 0);
  EXPECT_EQ(round_to(0.6 * kSmallestF16, DType::kF16), kSmallestF16);
}

TEST(Literal, RoundingAgreesWithTheHardwareForF32) {
  for (const double value : {0.1, 1e-40, 3.4e38, 16777217.0, -1e-45}) {
    EXPECT_EQ(round_to(value, DType::kF32), static_cast<double>(static_cast<float>(value)));
  }
}

TEST(Literal, LargestNumbersAreRepresentableAndTheNextAreNot) {
  const std::pair<DType, double> largest[] = {{DType::kF16, 65504},        {DType::kF8E4M3FN, 448},
                                              {DType::kF8E4M3, 240},       {DType::kF8E5M2, 57344},
                                              {DType::kF8E4M3B11FNUZ, 30}, {DType::kF8E3M4, 15.5}};
  for (const auto& [dtype, value] : largest) {
    EXPECT_TRUE(representable(value, dtype)) << name(dtype);
    EXPECT_FALSE(representable(value * 1.25, dtype)) << name(dtype);
  }
}

TEST(Literal, NanPayloadsPrintUnlessTheyAreTheDefault) {
  EXPECT_EQ(canonical_nan(false, std::nullopt, DType::kBF16), "nan");
  EXPECT_EQ(canonical_nan(true, 0x40, DType::kBF16), "-nan");  // the quiet bit alone
  EXPECT_EQ(canonical_nan(true, 0x7f, DType::kBF16), "-nan(0x7f)");
  EXPECT_EQ(canonical_nan(false, 1, DType::kF8E4M3FN), "nan");  // one NaN per sign
  EXPECT_EQ(nan_payload_bits(DType::kF32), 23);
}

}  // namespace
}  // namespace tilecast::ir

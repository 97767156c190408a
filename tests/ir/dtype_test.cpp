#include "ir/dtype.h"

#include <gtest/gtest.h>

#include <vector>

namespace tilecast::ir {
namespace {

std::vector<DType> all_types() {
  std::vector<DType> types;
  for (int i = 1; i <= static_cast<int>(DType::kBuffer); ++i)
    types.push_back(static_cast<DType>(i));
  return types;
}

TEST(DType, NamesReadBackAsTheSameType) {
  for (const DType dtype : all_types()) EXPECT_EQ(parse_dtype(name(dtype)), dtype) << name(dtype);
}

TEST(DType, UnknownAndInvalidNamesAreNoType) {
  for (const char* text : {"", "f33", "F32", "invalid", "f8", "bf"}) {
    EXPECT_EQ(parse_dtype(text), std::nullopt) << text;
  }
}

TEST(DType, OpaqueHasAnOldSpelling) {
  EXPECT_EQ(parse_dtype("opaque_type"), DType::kOpaque);
}

TEST(DType, WidthIsInTheName) {
  EXPECT_EQ(bits(DType::kU4), 4);
  EXPECT_EQ(bits(DType::kBF16), 16);
  EXPECT_EQ(bits(DType::kC128), 128);
  EXPECT_EQ(bits(DType::kF8E4M3B11FNUZ), 8);
  EXPECT_EQ(bits(DType::kPred), 8);
}

TEST(DType, NarrowTypesTakeAWholeByte) {
  for (const DType dtype : {DType::kS1, DType::kU2, DType::kS4, DType::kF4E2M1FN}) {
    EXPECT_EQ(storage_bytes(dtype), 1) << name(dtype);
  }
  for (const DType dtype : all_types()) {
    if (bits(dtype) >= 8) {
      EXPECT_EQ(storage_bytes(dtype) * 8, bits(dtype)) << name(dtype);
    }
  }
}

TEST(DType, EveryElementTypeHasExactlyOneFamily) {
  for (const DType dtype : all_types()) {
    const int families = int{is_floating(dtype)} + int{is_signed_integer(dtype)} +
                         int{is_unsigned_integer(dtype)} + int{is_complex(dtype)} +
                         int{dtype == DType::kPred};
    EXPECT_EQ(families, is_array_element(dtype) ? 1 : 0) << name(dtype);
  }
}

}  // namespace
}  // namespace tilecast::ir

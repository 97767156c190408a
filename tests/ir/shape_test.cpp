#include "ir/shape.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace tilecast::ir {
namespace {

Shape tiled(DType dtype, Dims dims, std::vector<Dims> tiles) {
  Shape shape = Shape::array(dtype, std::move(dims));
  shape.layout = default_layout(shape.rank());
  shape.layout.edit().tiles = std::move(tiles);
  return shape;
}

Shape row_major(DType dtype, Dims dims) {
  return tiled(dtype, std::move(dims), {});
}

TEST(Shape, DefaultLayoutIsRowMajor) {
  EXPECT_EQ(default_layout(3).minor_to_major, (Dims{2, 1, 0}));
  EXPECT_TRUE(default_layout(0).minor_to_major.empty());
}

TEST(Shape, CountsTheElementsOfAnArray) {
  EXPECT_EQ(element_count(Shape::array(DType::kF32, {})), 1);
  EXPECT_EQ(element_count(Shape::array(DType::kF32, {2, 3, 5})), 2 * 3 * 5);
  EXPECT_EQ(element_count(Shape::array(DType::kF32, {INT64_MAX, 0, INT64_MAX})), 0);
}

TEST(Shape, RefusesSizesItCannotCount) {
  EXPECT_THROW((void)element_count(Shape::array(DType::kF32, {INT64_MAX, 2})), Error);
  EXPECT_THROW((void)element_count(Shape::array(DType::kF32, {kUnboundedSize, 2})), Error);
  EXPECT_THROW((void)unpadded_bytes(Shape::array(DType::kC128, {std::int64_t{1} << 60})), Error);
  EXPECT_THROW((void)padded_bytes(tiled(DType::kF32, {std::int64_t{1} << 61, 1}, {{8, 128}})),
               Error);
}

TEST(Shape, PadsTheTwoMinorDimensionsToTheTile) {
  const Shape shape = tiled(DType::kF32, {3, 9, 130}, {{8, 128}});
  EXPECT_EQ(padded_physical_dims(shape), (Dims{3, 16, 256}));
  EXPECT_EQ(padded_bytes(shape), 3 * 16 * 256 * 4);
  EXPECT_EQ(unpadded_bytes(shape), 3 * 9 * 130 * 4);
}

TEST(Shape, TheLayoutSaysWhichDimensionsAreMinor) {
  Shape shape = tiled(DType::kF32, {16, 4}, {{4, 128}});
  shape.layout.edit().minor_to_major = {0, 1};
  EXPECT_EQ(padded_bytes(shape), 4 * 128 * 4);
}

TEST(Shape, OnlyTheFirstTileAddsPadding) {
  EXPECT_EQ(padded_bytes(tiled(DType::kBF16, {8, 128}, {{8, 128}, {2, 1}})), 8 * 128 * 2);
}

TEST(Shape, AScalarFillsItsTile) {
  EXPECT_EQ(padded_bytes(tiled(DType::kF32, {}, {{128}})), 128 * 4);
  EXPECT_EQ(padded_bytes(tiled(DType::kF32, {100}, {{8, 128}})), 8 * 128 * 4);
}

TEST(Shape, TailAlignmentRoundsTheElementCountUp) {
  Shape shape = row_major(DType::kS8, {10});
  shape.layout.edit().tail_alignment = 64;
  EXPECT_EQ(padded_bytes(shape), 64);
}

TEST(Shape, ElementBitsPackNarrowTypes) {
  Shape shape = row_major(DType::kS4, {7});
  EXPECT_EQ(padded_bytes(shape), 7);
  shape.layout.edit().element_bits = 4;
  EXPECT_EQ(padded_bytes(shape), (7 * 4 + 7) / 8);
}

TEST(Shape, TuplesSumTheirLeavesAndTokensAreFree) {
  const Shape array = row_major(DType::kF32, {5});
  const Shape tuple = Shape::tuple({array, Shape::token(), Shape::tuple({array})});
  EXPECT_EQ(unpadded_bytes(tuple), 2 * 5 * 4);
  EXPECT_EQ(padded_bytes(Shape::token()), 0);
}

TEST(Shape, CombinedTileDimensionsAreMergedFirst) {
  // T(2,*,128): dimensions 1 and 2 are combined into one of 3 * 50.
  const Shape shape = tiled(DType::kF32, {3, 3, 50}, {{2, kCombineTileDim, 128}});
  EXPECT_EQ(padded_physical_dims(shape), (Dims{4, 256}));
}

TEST(Shape, RefusesTilesThatCannotBe) {
  EXPECT_THROW((void)padded_bytes(tiled(DType::kF32, {4}, {{0}})), Error);
  EXPECT_THROW((void)padded_bytes(tiled(DType::kF32, {4}, {{kCombineTileDim}})), Error);
}

TEST(Shape, CompatibilityIgnoresLayouts) {
  const Shape plain = Shape::array(DType::kF32, {2, 3});
  EXPECT_TRUE(compatible(plain, tiled(DType::kF32, {2, 3}, {{8, 128}})));
  EXPECT_FALSE(compatible(plain, Shape::array(DType::kF32, {3, 2})));
  EXPECT_FALSE(compatible(plain, Shape::array(DType::kBF16, {2, 3})));
  EXPECT_FALSE(compatible(Shape::tuple({plain}), Shape::tuple({plain, plain})));
}

TEST(Shape, UnboundedDimensionsAreFoundAtAnyDepth) {
  const Shape unbounded = Shape::array(DType::kF32, {kUnboundedSize, 4});
  EXPECT_TRUE(Shape::tuple({Shape::tuple({unbounded})}).is_unbounded());
  EXPECT_FALSE(Shape::tuple({Shape::array(DType::kF32, {4})}).is_unbounded());
}

TEST(ShapeText, LayoutItemsComeInXlasOrder) {
  Shape shape = tiled(DType::kF32, {32, 26}, {{8, 128}, {2, 1}});
  shape.layout.edit().memory_space = 1;
  EXPECT_EQ(to_string(shape), "f32[32,26]{1,0:T(8,128)(2,1)S(1)}");
  EXPECT_EQ(to_string(shape, /*with_layout=*/false), "f32[32,26]");
  shape.layout.edit().tail_alignment = 4;
  shape.layout.edit().element_bits = 16;
  shape.layout.edit().dynamic_prefix_bytes = 8;
  shape.layout.edit().split_config = "(0:5)";
  EXPECT_EQ(to_string(shape), "f32[32,26]{1,0:T(8,128)(2,1)L(4)E(16)S(1)SC(0:5)M(8)}");
}

TEST(ShapeText, ScalarsShowALayoutOnlyWhenItSaysSomething) {
  EXPECT_EQ(to_string(row_major(DType::kF32, {})), "f32[]");
  EXPECT_EQ(to_string(tiled(DType::kF32, {}, {{128}})), "f32[]{:T(128)}");
}

TEST(ShapeText, DynamicDimensionsShowTheirBound) {
  Shape shape = Shape::array(DType::kF32, {4, kUnboundedSize});
  shape.set_dynamic(0);
  EXPECT_EQ(to_string(shape), "f32[<=4,?]");
}

// Messages may contain shapes with too many dimensions.
TEST(Shape, NoDimensionBeyondTheMostIsDynamic) {
  Shape shape = Shape::array(DType::kF32, Dims(Shape::kMaxRank + 1, 2));
  shape.set_dynamic(Shape::kMaxRank);
  EXPECT_EQ(shape.dynamic_mask, 0U);
  shape.set_dynamic(Shape::kMaxRank - 1);
  EXPECT_TRUE(shape.is_dynamic(Shape::kMaxRank - 1));
  EXPECT_FALSE(shape.is_dynamic(Shape::kMaxRank));
  EXPECT_THAT(to_string(shape, /*with_layout=*/false), ::testing::EndsWith("2,<=2,2]"));
}

TEST(ShapeText, TuplesCountEveryFifthElement) {
  const Shape scalar = Shape::array(DType::kS32, {});
  EXPECT_EQ(to_string(Shape::tuple({})), "()");
  EXPECT_EQ(to_string(Shape::tuple(std::vector<Shape>(6, scalar))),
            "(s32[], s32[], s32[], s32[], s32[], /*index=5*/s32[])");
}

TEST(ShapeText, BuffersWrapTheirShape) {
  Shape buffer;
  buffer.dtype = DType::kBuffer;
  buffer.elements = {row_major(DType::kF32, {2})};
  EXPECT_EQ(to_string(buffer), "b(f32[2]{0})");
  EXPECT_EQ(to_string(Shape::token()), "token[]");
}

}  // namespace
}  // namespace tilecast::ir

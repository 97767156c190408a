// Bytes of regions in device layouts.
#include "analytical/transfer.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/layout_assignment.h"
#include "ir/text/hlo_parser.h"
#include "tests/support/hlo_parts.h"

namespace tilecast::analytical {
namespace {

using ir::DType;
using ir::Shape;

Extents extents(std::initializer_list<std::int64_t> sizes) {
  Extents e;
  e.fill(1);
  std::copy(sizes.begin(), sizes.end(), e.begin());
  return e;
}

TEST(RegionBytes, PadsTheTwoMinorDimensionsToTheTile) {
  const StoredArray a =
      stored_array(support::parse_shape("f32[32,26,26,192]{3,0,2,1:T(8,128)}"), 1);
  // Minor to major: 192 -> 256 lanes, dimension 0 (32) in sublanes, then 26 and 26.
  EXPECT_EQ(whole_bytes(a), 4.0 * 26 * 26 * 32 * 256);
  EXPECT_EQ(region_bytes(a, extents({9, 1, 2, 100})), 4.0 * 2 * 16 * 128);
}

TEST(RegionBytes, RoundEveryContiguousRunToTheGranule) {
  const StoredArray rows = stored_array(support::parse_shape("f32[64,1000]{1,0}"), 512);
  EXPECT_EQ(region_bytes(rows, extents({64, 10})), 64 * 512.0);   // 40 bytes per row
  EXPECT_EQ(region_bytes(rows, extents({2, 1000})), 16 * 512.0);  // one run of 8000 bytes
  EXPECT_EQ(resident_bytes(rows, extents({64, 10})), 64 * 10 * 4.0);
}

TEST(RegionBytes, CountElementSizesBelowAByte) {
  EXPECT_EQ(whole_bytes(stored_array(support::parse_shape("s4[256,256]{1,0:E(4)}"), 1)),
            256 * 256 / 2.0);
}

// 12 x 12 positions of 4 x 2 native tiles each.
double descriptors_of(int strides, std::initializer_list<std::int64_t> sizes) {
  StoredArray a =
      stored_array(support::parse_shape("bf16[32,12,12,256]{3,0,2,1:T(8,128)(2,1)}"), 1);
  a.descriptor_strides = strides;
  return descriptors(a, extents(sizes));
}

TEST(Descriptors, ListRunsAtOneStrideEach) {
  EXPECT_EQ(descriptors_of(1, {32, 12, 12, 256}), 1);  // one run
  EXPECT_EQ(descriptors_of(1, {32, 12, 12, 128}), 1);  // every second tile
  EXPECT_EQ(descriptors_of(1, {32, 6, 4, 128}), 6);  // every second tile of 4 consecutive positions
  EXPECT_EQ(descriptors_of(1, {16, 6, 4, 128}), 6 * 4);
  EXPECT_EQ(descriptors_of(1, {16, 6, 12, 128}), 6 * 12);
  EXPECT_EQ(descriptors_of(1, {8, 6, 4, 128}), 6);  // one tile per position
}

TEST(Descriptors, OfMoreStridesAreFewer) {
  EXPECT_EQ(descriptors_of(2, {16, 6, 4, 128}), 6);
  EXPECT_EQ(descriptors_of(2, {16, 6, 12, 128}), 1);  // positions continue at one stride
  EXPECT_EQ(descriptors_of(3, {16, 6, 4, 128}), 1);
  EXPECT_EQ(descriptors_of(0, {16, 6, 4, 128}), 1);  // any number
}

Shape random_shape(std::mt19937_64& random) {
  static constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kS8, DType::kPred};
  ir::Dims dims;
  const int rank = std::uniform_int_distribution<>(1, 5)(random);
  for (int d = 0; d < rank; ++d) dims.push_back(std::uniform_int_distribution<>(1, 300)(random));
  Shape shape = Shape::array(kTypes[random() % 4], dims);
  shape.layout = ir::default_layout(rank);
  ir::Dims& order = shape.layout.edit().minor_to_major;
  std::shuffle(order.begin(), order.end(), random);
  if (random() % 4 != 0) shape.layout = ir::device_layout(shape, {});
  return shape;
}

TEST(RegionBytes, OfTheWholeArrayAreItsPaddedBytes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const Shape shape = random_shape(random);
    const StoredArray a = stored_array(shape, 1);
    Extents whole;
    whole.fill(1);
    std::copy(shape.dims.begin(), shape.dims.end(), whole.begin());
    const auto padded = static_cast<double>(ir::padded_bytes(shape));
    ASSERT_EQ(whole_bytes(a), padded) << ir::to_string(shape);
    ASSERT_EQ(region_bytes(a, whole), padded) << ir::to_string(shape);
  }
}

TEST(StridedSlowdown, GrowsFromOneByThePagesThatRunsOpen) {
  constexpr double kRun = 32, kCost = 96;
  EXPECT_EQ(strided_slowdown(kRun, 1e6, 0), 1);
  EXPECT_DOUBLE_EQ(strided_slowdown(kRun, 1 << 11, kCost), 1 + 3 * (1 + 1.5 / 32));
  EXPECT_DOUBLE_EQ(strided_slowdown(kRun, 1 << 15, kCost), 1 + 3 * (1 + 1.5 / 2));
  EXPECT_DOUBLE_EQ(strided_slowdown(kRun, 1 << 16, kCost), 1 + 3 * 2.5);
  EXPECT_DOUBLE_EQ(strided_slowdown(kRun, 1 << 20, kCost), 1 + 3 * 2.5);
  EXPECT_DOUBLE_EQ(strided_slowdown(2 * kRun, 1 << 20, kCost), 1 + 1.5 * 2.5);
  double before = 1;
  for (double stride = kRun; stride < 1 << 20; stride *= 1.5) {
    EXPECT_GE(strided_slowdown(kRun, stride, kCost), before);
    before = strided_slowdown(kRun, stride, kCost);
  }
}

TEST(RegionBytes, NeverShrinkWhenTheRegionOrTheGranuleGrows) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) {
    const Shape shape = random_shape(random);
    Extents part;
    part.fill(1);
    for (int d = 0; d < shape.rank(); ++d)
      part[d] = 1 + static_cast<std::int64_t>(random() % shape.dims[d]);
    Extents larger = part;
    const int d = static_cast<int>(random() % shape.rank());
    larger[d] += static_cast<std::int64_t>(random() % (shape.dims[d] - part[d] + 1));
    const StoredArray a = stored_array(shape, 1);
    const StoredArray coarse = stored_array(shape, 512);
    ASSERT_LE(region_bytes(a, part), region_bytes(a, larger)) << ir::to_string(shape);
    ASSERT_LE(region_bytes(a, part), region_bytes(coarse, part)) << ir::to_string(shape);
    ASSERT_EQ(region_bytes(a, part), resident_bytes(a, part)) << ir::to_string(shape);
    ASSERT_LE(resident_bytes(a, part), whole_bytes(a)) << ir::to_string(shape);
  }
}

}  // namespace
}  // namespace tilecast::analytical

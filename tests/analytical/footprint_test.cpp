// Regions of operands for a tile of the result, per op.
#include "analytical/footprint.h"

#include <gtest/gtest.h>

#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

using Sizes = std::vector<std::int64_t>;

// The region of every parameter if the anchor's dimensions have extents `tile` and the contracted
// ones (window positions, then features) `reduced`; 0 = whole.
std::vector<Sizes> regions(const ir::Kernel& kernel, const Sizes& tile, const Sizes& reduced = {}) {
  const IterationSpace space = make_iteration_space(kernel, {});
  const Footprints footprints(kernel, space);
  LoopSizes extents;
  extents.fill(1);
  for (std::size_t i = 0; i < space.loops.size(); ++i) extents[i] = space.loops[i].size;
  for (std::size_t d = 0; d < tile.size(); ++d) {
    if (tile[d] > 0) extents[space.anchor_loops[d]] = tile[d];
  }
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i] > 0) extents[space.anchor_loops.size() + i] = reduced[i];
  }
  std::vector<Extents> groups(footprints.groups().size());
  footprints.evaluate(extents, groups);
  std::vector<Sizes> result;
  for (const ir::OpId p : kernel.parameters()) {
    const Extents& e = groups[footprints.group_of(p)];
    result.emplace_back(e.begin(), e.begin() + kernel.op(p).shape.rank());
  }
  return result;
}

ir::Kernel unary(const std::string& operand, const std::string& result, const std::string& op) {
  return kernel_of(fusion({operand}, result, "  ROOT r = " + result + " " + op));
}

TEST(Footprint, OfAnElementwiseChainIsTheTile) {
  const ir::Kernel k = kernel_of(fusion({"f32[9,7]", "f32[9,7]"}, "f32[9,7]",
                                        "  a = f32[9,7] add(p0, p1)\n"
                                        "  ROOT r = f32[9,7] tanh(a)"));
  EXPECT_EQ(regions(k, {4, 3}), (std::vector<Sizes>{{4, 3}, {4, 3}}));
}

TEST(Footprint, OfABroadcastDropsTheNewDimensions) {
  const ir::Kernel k = unary("f32[5,7]", "f32[5,6,7]", "broadcast(p0), dimensions={0,2}");
  EXPECT_EQ(regions(k, {2, 3, 4}), (std::vector<Sizes>{{2, 4}}));
}

TEST(Footprint, OfATransposeIsPermuted) {
  const ir::Kernel k = unary("f32[5,6,7]", "f32[7,5,6]", "transpose(p0), dimensions={2,0,1}");
  EXPECT_EQ(regions(k, {4, 2, 3}), (std::vector<Sizes>{{2, 3, 4}}));
}

TEST(Footprint, OfAReshapeThatOnlyAddsOnesKeepsDimensions) {
  const ir::Kernel k = unary("f32[5,1,7]", "f32[1,5,7]", "reshape(p0)");
  EXPECT_EQ(regions(k, {1, 2, 3}), (std::vector<Sizes>{{2, 1, 3}}));
}

TEST(Footprint, OfOtherReshapesIsAsManyElementsFilledFromTheMinorDimension) {
  const ir::Kernel k = unary("f32[8,128]", "f32[4,256]", "reshape(p0)");
  EXPECT_EQ(regions(k, {2, 256}), (std::vector<Sizes>{{4, 128}}));
  EXPECT_EQ(regions(k, {1, 64}), (std::vector<Sizes>{{1, 64}}));
}

TEST(Footprint, OfDimensionsThatSplitOrMergeIsTheirSpan) {
  EXPECT_EQ(regions(unary("f32[12,8]", "f32[12,2,4]", "reshape(p0)"), {3, 1, 4}),
            (std::vector<Sizes>{{3, 4}}));
  EXPECT_EQ(regions(unary("f32[12,2,4]", "f32[12,8]", "reshape(p0)"), {3, 4}),
            (std::vector<Sizes>{{3, 1, 4}}));
}

TEST(Footprint, OfABitcastFollowsTheOrderInMemory) {
  const ir::Kernel k =
      unary("f32[6,4,128]{2,0,1:T(8,128)}", "f32[4,6,128]{2,1,0:T(8,128)}", "bitcast(p0)");
  EXPECT_EQ(regions(k, {4, 1, 128}), (std::vector<Sizes>{{1, 4, 128}}));
}

// Rows [0, n) and [gap, gap + n) of p0.
ir::Kernel sum_of_slices(std::int64_t n, std::int64_t gap) {
  const std::string result = "f32[" + std::to_string(n) + "]";
  const auto slice = [&](std::int64_t from) {
    return result + " slice(p0), slice={[" + std::to_string(from) + ":" + std::to_string(from + n) +
           "]}\n";
  };
  return kernel_of(
      fusion({"f32[" + std::to_string(gap + n) + "]"}, result,
             "  a = " + slice(0) + "  b = " + slice(gap) + "  ROOT r = " + result + " add(a, b)"));
}

TEST(Footprint, OfTwoSlicesIsTheirUnion) {
  EXPECT_EQ(regions(sum_of_slices(8, 8), {2}), (std::vector<Sizes>{{2 + 2}}));
  EXPECT_EQ(regions(sum_of_slices(15, 1), {4}), (std::vector<Sizes>{{4 + 1}}));
}

TEST(Footprint, OfAStridedSliceSpansWhatItSkips) {
  const ir::Kernel k = unary("f32[20,30]", "f32[6,10]", "slice(p0), slice={[1:19:3], [5:15]}");
  EXPECT_EQ(regions(k, {4, 5}), (std::vector<Sizes>{{(4 - 1) * 3 + 1, 5}}));
}

TEST(Footprint, OfAPadIsWhatLiesBetweenTheHoles) {
  const ir::Kernel k = kernel_of(fusion({"f32[5,4]", "f32[]"}, "f32[15,6]",
                                        "  ROOT r = f32[15,6] pad(p0, p1), padding=1_1_2x1_1"));
  const std::int64_t holes = 2;
  EXPECT_EQ(regions(k, {7, 6})[0], (Sizes{(7 + holes) / (holes + 1), 4}));
}

TEST(Footprint, OfAConcatenationIsEachOperandsShareOnAverage) {
  const ir::Kernel k =
      kernel_of(fusion({"f32[10,8]", "f32[30,8]"}, "f32[40,8]",
                       "  ROOT r = f32[40,8] concatenate(p0, p1), dimensions={0}"));
  EXPECT_EQ(regions(k, {8, 4}), (std::vector<Sizes>{{8 * 10 / 40, 4}, {8 * 30 / 40, 4}}));
}

TEST(Footprint, OfAReductionIsTheTileOfItsInput) {
  const ir::Kernel k =
      kernel_of(fusion({"f32[12,20]", "f32[12]"}, "f32[12]",
                       "  zero = f32[] constant(0)\n"
                       "  sum = f32[12] reduce(p0, zero), dimensions={1}, to_apply=adder\n"
                       "  ROOT r = f32[12] multiply(sum, p1)"));
  EXPECT_EQ(regions(k, {4, 5}), (std::vector<Sizes>{{4, 5}, {4}}));
}

TEST(Footprint, OfAPoolingWindowOverlaps) {
  const ir::Kernel k =
      kernel_of(fusion({"f32[11,13]", "f32[]"}, "f32[5,9]",
                       "  ROOT r = f32[5,9] reduce-window(p0, p1), window={size=3x3 "
                       "stride=2x1 rhs_dilate=1x2}, to_apply=adder"));
  EXPECT_EQ(regions(k, {3, 4})[0], (Sizes{(3 - 1) * 2 + 3, (4 - 1) * 1 + (3 - 1) * 2 + 1}));
}

TEST(Footprint, OfAGatherIsAsManyElements) {
  const ir::Kernel k =
      kernel_of(fusion({array("f32", {1000, 64}), "s32[30,1]"}, array("f32", {30, 64}),
                       "  ROOT r = " + array("f32", {30, 64}) +
                           " gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, "
                           "start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}"));
  EXPECT_EQ(regions(k, {10, 64})[0], (Sizes{10, 64}));
}

ir::Kernel convolution(const std::string& input, const std::string& kernel,
                       const std::string& result, const std::string& attributes) {
  return kernel_of(fusion({input, kernel}, result,
                          "  ROOT r = " + result + " convolution(p0, p1), " + attributes +
                              ", dim_labels=b01f_01io->b01f"));
}

TEST(Footprint, OfAConvolutionFollowsStrideAndDilation) {
  const ir::Kernel k = convolution("f32[2,33,17,8]", "f32[3,3,8,16]", "f32[2,16,13,16]",
                                   "window={size=3x3 stride=2x1 rhs_dilate=1x2}");
  EXPECT_EQ(regions(k, {1, 4, 5, 8}),
            (std::vector<Sizes>{{1, (4 - 1) * 2 + 3, (5 - 1) + (3 - 1) * 2 + 1, 8}, {3, 3, 8, 8}}));
}

TEST(Footprint, OfPartOfAConvolutionsWindowIsNarrower) {
  const ir::Kernel k = convolution("f32[2,33,17,8]", "f32[3,3,8,16]", "f32[2,16,13,16]",
                                   "window={size=3x3 stride=2x1 rhs_dilate=1x2}");
  EXPECT_EQ(
      regions(k, {1, 4, 5, 16}, {1, 2, 4}),
      (std::vector<Sizes>{{1, (4 - 1) * 2 + 1, (5 - 1) + (2 - 1) * 2 + 1, 4}, {1, 2, 4, 16}}));
}

TEST(Footprint, OfADilatedInputSkipsTheHoles) {
  const ir::Kernel k = convolution("f32[1,8,8,4]", "f32[3,3,4,4]", "f32[1,15,15,4]",
                                   "window={size=3x3 pad=1_1x1_1 lhs_dilate=2x2}");
  const std::int64_t span = (5 - 1) + 3;
  EXPECT_EQ(regions(k, {1, 5, 15, 4})[0], (Sizes{1, (span + 1) / 2, 8, 4}));
}

TEST(Footprint, OfAFeatureGroupTakesTheFeaturesOfAllGroups) {
  const ir::Kernel k = convolution("f32[1,8,8,32]", "f32[1,1,4,64]", "f32[1,8,8,64]",
                                   "window={size=1x1}, feature_group_count=8");
  EXPECT_EQ(regions(k, {1, 8, 8, 64})[0], (Sizes{1, 8, 8, 4 * 8}));
}

TEST(Footprint, OfAMatrixProductIsABandOfRowsAndOneOfColumns) {
  const ir::Kernel k = kernel_of(
      fusion({"f32[3,40,50]", "f32[3,60,50]"}, "f32[3,40,60]",
             "  ROOT r = f32[3,40,60] dot(p0, p1), lhs_batch_dims={0}, rhs_batch_dims={0}, "
             "lhs_contracting_dims={2}, rhs_contracting_dims={2}"));
  EXPECT_EQ(regions(k, {1, 8, 16}), (std::vector<Sizes>{{1, 8, 50}, {1, 16, 50}}));
  EXPECT_EQ(regions(k, {1, 8, 16}, {10}), (std::vector<Sizes>{{1, 8, 10}, {1, 16, 10}}));
}

}  // namespace
}  // namespace tilecast::analytical::testing

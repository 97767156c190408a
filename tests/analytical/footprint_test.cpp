// Regions of operands for a tile of the result, per op.
#include "analytical/footprint.h"

#include <gtest/gtest.h>

#include "analytical/analytical_model.h"
#include "analytical/transfer.h"
#include "hwdesc/device_yaml.h"
#include "ir/kernels/in_place_update.h"
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

// Two caches that are updated side by side share loops, though they share no array.
TEST(Footprint, OfResultsOfTheSameDimensionsIsTheTileOfOne) {
  const ir::Kernel k = kernel_of(fusion({"f32[64,32]", "f32[64,32]"}, "(f32[64,32], f32[64,32])",
                                        "  a = f32[64,32] exponential(p0)\n"
                                        "  b = f32[64,32] negate(p1)\n"
                                        "  ROOT r = (f32[64,32], f32[64,32]) tuple(a, b)"));
  EXPECT_EQ(regions(k, {4, 8}), (std::vector<Sizes>{{4, 8}, {4, 8}}));
}

// A product that makes an operand of another one is computed where the other reads it.
TEST(Footprint, OfAProductInAProductIsWhatTheOuterOneReads) {
  const ir::Kernel k = kernel_of(fusion(
      {"f32[32,64]", "f32[64,512]", "f32[512,16]"}, "f32[32,16]",
      "  a = f32[32,512] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT r = f32[32,16] dot(a, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
  EXPECT_EQ(regions(k, {8, 4}, {128}), (std::vector<Sizes>{{8, 64}, {64, 128}, {128, 4}}));
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

// An update in place costs only the update, on every machine and for every form of the kernel.

namespace {

constexpr const char* kDevices[] = {"tpu_v3", "tpu_v5e", "h100_sxm", "v100_pcie", "cpu_generic"};
constexpr double kPadded =
    64;  // rows of a native tile that an update of one row falls into, packed

struct Case {
  const char* what;
  std::string hlo;
  double updated_bytes;  // without padding
};

// A cache of 512 MiB, 256 rows of which get a new position.
constexpr const char* kCache = "bf16[32,8,8192,128]{3,2,1,0}";
constexpr const char* kRow = "bf16[32,8,1,128]{3,2,1,0}";
constexpr double kRowBytes = 32 * 8 * 128 * 2;

std::string bare_update() {
  const std::string c = kCache, r = kRow;
  return "HloModule m\nENTRY main {\n  c = " + c + " parameter(0)\n  n = " + r +
         " parameter(1)\n  i = s32[] parameter(2)\n  z = s32[] constant(0)\n  ROOT r = " + c +
         " dynamic-update-slice(c, n, z, z, i, z)\n}\n";
}

std::string fused_update(bool two_outputs) {
  const std::string c = kCache, r = kRow;
  const std::string result = two_outputs ? "(" + c + ", " + r + ")" : c;
  const std::string root =
      two_outputs
          ? "  d = " + c + " dynamic-update-slice(p0, t, z, z, p2, z)\n  ROOT o = " + result +
                " tuple(d, t)\n"
          : "  ROOT d = " + c + " dynamic-update-slice(p0, t, z, z, p2, z)\n";
  return "HloModule m\nf {\n  p0 = " + c + " parameter(0)\n  p1 = " + r +
         " parameter(1)\n  p2 = s32[] parameter(2)\n  z = s32[] constant(0)\n  t = " + r +
         " tanh(p1)\n" + root + "}\nENTRY main {\n  c = " + c + " parameter(0)\n  n = " + r +
         " parameter(1)\n  i = s32[] parameter(2)\n  ROOT r = " + result +
         " fusion(c, n, i), kind=kLoop, calls=f\n}\n";
}

// XLA:TPU v7x: the cache's tiles of 16 rows are seen as tiles of 8 by a copy in place.
std::string viewed_update() {
  const std::string c = kCache, r = kRow;
  return "HloModule m\nv {\n  q = " + c + " parameter(0)\n  ROOT k = " + c +
         " copy(q)\n}\nf {\n  p0 = " + c + " parameter(0)\n  p1 = " + r +
         " parameter(1)\n  p2 = s32[] parameter(2)\n  z = s32[] constant(0)\n  w = " + c +
         " fusion(p0), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}, calls=v\n"
         "  ROOT d = " +
         c + " dynamic-update-slice(w, p1, z, z, p2, z)\n}\nENTRY main {\n  c = " + c +
         " parameter(0)\n  n = " + r + " parameter(1)\n  i = s32[] parameter(2)\n  ROOT r = " + c +
         " fusion(c, n, i), kind=kLoop, calls=f\n}\n";
}

// 64 rows of a table of 512 MB.
std::string scatter() {
  return "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  ROOT s = f32[] add(a, b)\n}\nENTRY main {\n"
         "  t = f32[1000000,128]{1,0} parameter(0)\n  i = s32[64,1]{1,0} parameter(1)\n"
         "  u = f32[64,128]{1,0} parameter(2)\n"
         "  ROOT g = f32[1000000,128]{1,0} scatter(t, i, u), update_window_dims={1}, "
         "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
         "to_apply=add\n}\n";
}

TEST(InPlace, CostsTheUpdateOnEveryMachine) {
  const Case cases[] = {{"bare", bare_update(), kRowBytes},
                        {"fused", fused_update(false), kRowBytes},
                        {"through a view", viewed_update(), kRowBytes},
                        {"fused, two outputs", fused_update(true), 2 * kRowBytes},
                        {"scatter", scatter(), 64 * 128 * 4}};
  for (const char* name : kDevices) {
    const hwdesc::Device device = hwdesc::load_device(name);
    for (const Case& each : cases) {
      const ir::Kernel kernel = kernel_of(each.hlo);
      const Estimate best = KernelAnalysis(kernel, device).estimate_best();
      const std::string what = std::string(name) + ", " + each.what;
      EXPECT_GE(best.hbm_write.value, each.updated_bytes) << what;
      EXPECT_LE(best.hbm_write.value, kPadded * each.updated_bytes) << what;
      EXPECT_LE(best.hbm_read.value, 2 * kPadded * each.updated_bytes) << what;
      EXPECT_LT(best.time.value, 100e-6) << what;
      EXPECT_GE(best.time, best.speed_of_light) << what;
    }
  }
}

// A target created inside the kernel has no buffer in which it could stay.
TEST(InPlace, OfAMadeTargetAllIsWritten) {
  const std::string whole = array("f32", {4096, 1024}), row = array("f32", {1, 1024});
  const ir::Kernel kernel =
      kernel_of(fusion({row, "s32[]"}, whole,
                       "  zero = f32[] constant(0)\n  z = s32[] constant(0)\n  b = " + whole +
                           " broadcast(zero), dimensions={}\n  ROOT d = " + whole +
                           " dynamic-update-slice(b, p0, p1, z)"));
  EXPECT_TRUE(ir::in_place_updates(kernel, kernel.outputs().front()).empty());
  for (const char* name : kDevices) {
    const hwdesc::Device device = hwdesc::load_device(name);
    EXPECT_EQ(distinct_traffic(kernel, device).write.value, 4096.0 * 1024 * 4) << name;
    EXPECT_GE(KernelAnalysis(kernel, device).estimate_best().hbm_write.value, 4096.0 * 1024 * 4)
        << name;
  }
}

// Doubling the rows never reduces the time, from a native tile on: a smaller update keeps the rest
// of the native tile, and has to read it.
TEST(InPlace, MoreRowsAreNeverFaster) {
  for (const char* name : kDevices) {
    const hwdesc::Device device = hwdesc::load_device(name);
    double before = 0;
    for (std::int64_t rows = 8; rows <= 65536; rows *= 2) {
      const std::string table = array("bf16", {65536, 1024}), part = array("bf16", {rows, 1024});
      const ir::Kernel kernel = kernel_of(fusion({table, part, "s32[]"}, table,
                                                 "  z = s32[] constant(0)\n  t = " + part +
                                                     " tanh(p1)\n  ROOT d = " + table +
                                                     " dynamic-update-slice(p0, t, p2, z)"));
      const double time_s = KernelAnalysis(kernel, device).estimate_best().time.value;
      EXPECT_GE(time_s, before * (1 - 1e-9)) << name << " " << rows;
      before = time_s;
    }
  }
}

}  // namespace
}  // namespace tilecast::analytical::testing

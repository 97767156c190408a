// Kernels of whole TPU programs that single operators do not cover: dots written as convolutions,
// results that are parameters, updates in place, relayouts, selected rows.
#include <gmock/gmock.h>

#include "analytical/analytical_model.h"
#include "analytical/scratchpad_model.h"
#include "analytical/tile_space.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

double bound(const Estimate& e, Bound b) {
  return e.bounds[static_cast<std::size_t>(b)].value;
}

Estimate whole(const ir::Kernel& kernel, const hwdesc::Device& device = round_device()) {
  const ScratchpadModel model(kernel, device);
  return model.estimate(full_tile(model.space()));
}

ir::Kernel product(const std::string& lhs, const std::string& rhs, const std::string& result,
                   const std::string& op) {
  return kernel_of(fusion({lhs, rhs}, result, "  ROOT r = " + result + " " + op));
}

TEST(TpuPrograms, APaddedWindowIsThePlainDot) {
  const ir::Kernel conv = product(
      "bf16[256,128,1]", "bf16[128,16,128]", "bf16[256,16,128]",
      "convolution(p0, p1), window={size=16 pad=15_15 rhs_reversal=1}, dim_labels=bf0_i0o->b0f");
  const ir::Kernel dot = product("bf16[256,128]", "bf16[128,2048]", "bf16[256,2048]",
                                 "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  EXPECT_NEAR(bound(whole(conv), Bound::kMatrix), bound(whole(dot), Bound::kMatrix), 1e-12);
}

TEST(TpuPrograms, ADilatedWindowIsTheDotOfABatch) {
  const ir::Kernel conv = product("bf16[16,256,128]", "bf16[16,128,128]", "bf16[16,256,128]",
                                  "convolution(p0, p1), window={size=16 stride=15 lhs_dilate=16}, "
                                  "dim_labels=0bf_0io->0bf");
  const ir::Kernel dot =
      product("bf16[16,256,128]", "bf16[16,128,128]", "bf16[16,256,128]",
              "dot(p0, p1), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
              "rhs_contracting_dims={1}");
  EXPECT_NEAR(bound(whole(conv), Bound::kMatrix), bound(whole(dot), Bound::kMatrix), 1e-12);
  const hwdesc::Device device = round_device();
  const ScratchpadModel model(conv, device);
  LoopSizes once;
  once.fill(1);
  once[0] = 16;  // the window follows the batch: one position per image
  const TileConfig tile = tile_of_trips(model.space(), once);
  EXPECT_EQ(model.estimate(tile).iterations, 16);
  EXPECT_EQ(model.estimate(tile).hbm_read.value, 2.0 * 16 * (256 * 128 + 128 * 128));
}

// bf16[256,128] x bf16[128,512] in `pieces` bands of columns; `op` produces the left operand.
double product_s(const std::string& op, std::int64_t pieces) {
  const hwdesc::Device device = round_device();
  const ir::Kernel kernel =
      kernel_of(fusion({"bf16[256,128]", "bf16[128,512]"}, "bf16[256,512]",
                       "  lhs = bf16[256,128] " + op +
                           "\n  ROOT r = bf16[256,512] dot(lhs, p1), lhs_contracting_dims={1}, "
                           "rhs_contracting_dims={0}"));
  const ScratchpadModel model(kernel, device);
  LoopSizes trips;
  trips.fill(1);
  trips[model.space().matrix->columns[0]] = pieces;
  return model.estimate(tile_of_trips(model.space(), trips)).time.value;
}

TEST(TpuPrograms, OperandsAreMadeBeforeTheirProductsOnceForEachTile) {
  const hwdesc::Device device = round_device();
  const double operations = 256 * 128;
  const double made_s = operations /
                        static_cast<double>(device.vector.lanes * device.vector.sublanes) /
                        device.vector.alus / device.clock.value;
  for (const std::int64_t pieces : {1, 4}) {
    EXPECT_NEAR(product_s("negate(p0)", pieces) - product_s("bitcast(p0)", pieces), made_s, 1e-12)
        << pieces;
  }
}

TEST(TpuPrograms, ResultsThatAreParametersCostNothing) {
  const std::string small = array("f32", {512, 1024});
  const std::string large = array("f32", {65536, 1024});
  const ir::Kernel alone = kernel_of(fusion({small}, small, "  ROOT n = " + small + " negate(p0)"));
  const std::string results = "(" + small + ", " + large + ")";
  const std::string parameters =
      "  p0 = " + small + " parameter(0)\n  p1 = " + large + " parameter(1)\n";
  const ir::Kernel beside = kernel_of(
      "HloModule m\nfused {\n" + parameters + "  n = " + small + " negate(p0)\n  ROOT t = " +
      results + " tuple(n, p1)\n}\nENTRY main {\n" + parameters + "  ROOT out = " + results +
      " fusion(p0, p1), kind=kLoop, output_to_operand_aliasing={{1}: (1, {})}, calls=fused\n}\n");
  const hwdesc::Device device = round_device();
  const Estimate e = KernelAnalysis(beside, device).estimate_best();
  EXPECT_EQ(e.time.value, KernelAnalysis(alone, device).estimate_best().time.value);
  EXPECT_EQ(e.hbm_write.value, 512.0 * 1024 * 4);
}

// f32[16, rows, 512], of which one of the 16 is replaced (in the sublanes).
ir::Kernel update(std::int64_t rows) {
  const std::string n = std::to_string(rows);
  const std::string target = "f32[16," + n + ",512]{2,0,1:T(8,128)}";
  return kernel_of(fusion({target, "f32[1," + n + ",512]{2,0,1:T(1,128)}", "s32[]"}, target,
                          "  zero = s32[] constant(0)\n  ROOT r = " + target +
                              " dynamic-update-slice(p0, p1, p2, zero, zero)"));
}

TEST(TpuPrograms, AnUpdateOfPartOfATileReadsAndWritesAllOfIt) {
  const Estimate e = whole(update(64));
  EXPECT_EQ(e.hbm_write.value, 64 * 8 * 512 * 4);
  const double index = 128 * 4;
  EXPECT_EQ(e.hbm_read.value, 64 * 8 * 512 * 4 + 64 * 512 * 4 + index);
}

TEST(TpuPrograms, AnUpdateInPlaceWaitsForEveryWindow) {
  hwdesc::Device device = round_device();
  device.memory[0].latency = Seconds{1e-3};  // far longer than anything else
  const double windows = 1024 * 8 * 512 * 4 / (512.0 * 1024);
  const ir::Kernel kernel = update(1024);
  const Estimate e = KernelAnalysis(kernel, device).estimate_best();
  EXPECT_NEAR(e.time.value, windows * 2e-3, 0.02 * e.time.value);
}

TEST(TpuPrograms, ARelayoutOfHalfWordsIsPacked) {
  const auto relayout = [](const std::string& type) {
    const std::string result = type + "[512,512]{0,1:T(8,128)}";
    return whole(kernel_of(
        fusion({type + "[512,512]{1,0:T(8,128)}"}, result, "  ROOT r = " + result + " copy(p0)")));
  };
  const double words = bound(relayout("f32"), Bound::kCrossLane);
  EXPECT_GT(words, 0);
  EXPECT_DOUBLE_EQ(bound(relayout("bf16"), Bound::kCrossLane), words / 2);
}

// 8,192 numbers fill 8 x 1,024 lanes on one side, 1,024 rows of 8 of 128 lanes on the other.
TEST(TpuPrograms, ARelayoutMovesTheRowsOfTheSideThatFillsItsLanes) {
  const auto relayout = [](const std::string& dims, const std::string& from,
                           const std::string& to) {
    const std::string type = "f32[" + dims + "]";
    return bound(whole(kernel_of(fusion({type + from + ":T(8,128)}"}, type + to + ":T(8,128)}",
                                        "  ROOT r = " + type + to + ":T(8,128)} copy(p0)"))),
                 Bound::kCrossLane);
  };
  const double moved_s = 8 * 1024 / 1024.0 / 1e9;
  EXPECT_NEAR(relayout("1024,8", "{1,0", "{0,1"), moved_s, 1e-15);
  EXPECT_NEAR(relayout("1024,8", "{0,1", "{1,0"), moved_s, 1e-15);
  EXPECT_EQ(relayout("1024,1", "{1,0", "{0,1"), 0);
}

TEST(TpuPrograms, RowsArePickedFasterThanElements) {
  const auto gather = [](const std::string& operand, const std::string& attributes) {
    const std::string result = array("f32", {256, 128});
    return bound(whole(kernel_of(fusion({operand, "s32[256]"}, result,
                                        "  ROOT r = " + result + " gather(p0, p1), " + attributes +
                                            ", index_vector_dim=1"))),
                 Bound::kCrossLane);
  };
  hwdesc::Device device = round_device();
  const double elements = 256 * 128;
  const double rows = gather(array("f32", {1024, 128}),
                             "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
                             "slice_sizes={1,128}");
  EXPECT_NEAR(rows, elements / device.cross_lane.elements_per_cycle / device.clock.value, 1e-15);
}

TEST(TpuPrograms, AProductWithinAnotherMultipliesWhatItsWindowMeets) {
  const auto matrix_s = [](const std::string& lhs, const std::string& lines) {
    const std::string result = "bf16[16,64,128]";
    return bound(whole(kernel_of(fusion({lhs, "bf16[16,128,128]", "bf16[16,128,128]"}, result,
                                        lines + "  ROOT r = " + result +
                                            " convolution(lhs, p2), window={size=16 stride=15 "
                                            "lhs_dilate=16}, dim_labels=0bf_0io->0bf"))),
                 Bound::kMatrix);
  };
  const std::string type = "bf16[16,64,128]";
  const double nested =
      matrix_s(type, "  lhs = " + type +
                         " convolution(p0, p1), window={size=16 stride=15 lhs_dilate=16}, "
                         "dim_labels=0bf_0io->0bf\n");
  const double plain = matrix_s(type, "  lhs = " + type + " bitcast(p0)\n");
  const double peak = 2.0 * 2 * 128 * 128 * 1e9;  // two arrays
  EXPECT_NEAR(nested - plain, 2.0 * 16 * 64 * 128 * 128 / peak, 1e-9);
}

// Seconds of a unit in a kernel over f32[512,1024] and f32[512].
double unit_s(const std::string& result, const std::string& lines, Bound unit) {
  const std::string rows = "f32[512]{0:T(512)}";
  return bound(whole(kernel_of(fusion({array("f32", {512, 1024}), rows}, result, lines))), unit);
}

TEST(TpuPrograms, OneRegisterOfARowMovesBetweenLanes) {
  const std::string all = array("f32", {512, 1024});
  const double row_s = 512 * 128 / 1024.0 / 1e9;  // 128 of 1024 elements of each row, 1024 a cycle
  const auto spread = [&](const std::string& vector) {
    return unit_s(all,
                  vector + "  b = " + all + " broadcast(v), dimensions={0}\n  ROOT r = " + all +
                      " add(p0, b)",
                  Bound::kCrossLane);
  };
  EXPECT_NEAR(spread("  v = f32[512]{0:T(512)} negate(p1)\n"), row_s, 1e-12);
  const std::string reduced =
      "  zero = f32[] constant(0)\n  v = f32[512]{0:T(512)} reduce(p0, zero), dimensions={1}, "
      "to_apply=adder\n";
  EXPECT_NEAR(unit_s("f32[512]{0:T(512)}",
                     "  zero = f32[] constant(0)\n  ROOT r = f32[512]{0:T(512)} reduce(p0, zero), "
                     "dimensions={1}, to_apply=adder",
                     Bound::kCrossLane),
              row_s, 1e-12);
  EXPECT_NEAR(spread(reduced), row_s, 1e-12);  // the sum is in every lane already
}

TEST(TpuPrograms, NarrowedElementsArePackedAndInvariantsAreFree) {
  const std::string all = array("f32", {512, 1024}), half = "bf16[512,1024]{1,0:T(8,128)(2,1)}";
  const double pass_s = 512 * 1024 / (1024.0 * 2) / 1e9;  // one operation per element, two units
  const auto vector_s = [](const std::string& result, const std::string& lines) {
    return unit_s(result, lines, Bound::kVector);
  };
  EXPECT_NEAR(vector_s(half, "  ROOT r = " + half + " convert(p0)"), pass_s / 2, 1e-12);
  EXPECT_NEAR(vector_s(all, "  c = f32[] constant(2)\n  b = " + all +
                                " broadcast(c), dimensions={}\n  e = " + all +
                                " multiply(b, b)\n  ROOT r = " + all + " add(p0, e)"),
              pass_s, 1e-12);
}

TEST(TpuPrograms, ScalarsTakeAStep) {
  hwdesc::Device device = round_device();
  device.engines[0].iteration_overhead = Seconds{1e-6};
  device.memory[0].latency = Seconds{1e-3};
  const ir::Kernel kernel = kernel_of(
      "HloModule m\nENTRY main {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
      "  ROOT c = pred[] compare(a, b), direction=LT\n}\n");
  EXPECT_EQ(KernelAnalysis(kernel, device).estimate_best().time.value, 1e-6);
}

TEST(TpuPrograms, TilesMayBeWholeInOuterDimensions) {
  const std::string shape = array("f32", {64, 64, 1024});
  const ir::Kernel k = kernel_of(fusion({shape}, shape, "  ROOT r = " + shape + " negate(p0)"));
  const IterationSpace space = make_iteration_space(k, round_device().native_tile);
  EXPECT_THAT(
      tiles_of_extents(space, candidate_extents(space, 1000)),
      ::testing::Contains(::testing::Field(&TileConfig::output, ::testing::ElementsAre(64, 1, 8))));
}

}  // namespace
}  // namespace tilecast::analytical::testing

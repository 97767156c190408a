// Estimates of the analytical model for every kind of kernel.
#include "analytical/analytical_model.h"

#include <gmock/gmock.h>

#include <cmath>

#include "analytical/collective.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

using ::testing::HasSubstr;

hwdesc::Device tpu() {
  return hwdesc::load_device("tpu_v3");
}

ir::Kernel addition(std::int64_t rows) {
  const std::string shape = array("f32", {rows, 1024});
  return kernel_of(fusion({shape, shape}, shape, "  ROOT r = " + shape + " add(p0, p1)"));
}

ir::Kernel single(const std::string& parameter, const std::string& result,
                  const std::string& expression, const std::string& computations = "") {
  return kernel_of("HloModule m, replica_count=8\n" + computations + "ENTRY main {\n  p0 = " +
                   parameter + " parameter(0)\n  ROOT r = " + result + " " + expression + "\n}\n");
}

// A computation for reductions.
constexpr const char* kAdder =
    "adder {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n";

void expect_sound(const Estimate& e, const std::string& what) {
  EXPECT_TRUE(std::isfinite(e.time.value)) << what;
  EXPECT_GE(e.time, e.speed_of_light) << what;
  EXPECT_GE(e.speed_of_light.value, 0) << what;
  for (std::size_t b = 0; b < kBoundCount; ++b) {
    EXPECT_TRUE(std::isfinite(e.bounds[b].value)) << what << ": " << name(static_cast<Bound>(b));
    EXPECT_GE(e.bounds[b].value, -1e-15) << what << ": " << name(static_cast<Bound>(b));
  }
  EXPECT_GE(e.utilisation, 0) << what;
  EXPECT_LE(e.utilisation, 1 + 1e-12) << what;
  EXPECT_GE(e.next_time.value, 0) << what;
  EXPECT_LE(e.next_time.value, e.time.value * (1 + 1e-12)) << what;
  EXPECT_EQ(e.model, "analytical") << what;
}

std::vector<std::pair<std::string, ir::Kernel>> kernels_of_every_kind() {
  const std::string m = array("f32", {512, 1024});
  const std::string t = array("f32", {1024, 512});
  std::vector<std::pair<std::string, ir::Kernel>> kernels;
  const auto add = [&](const std::string& what, ir::Kernel k) {
    kernels.emplace_back(what, std::move(k));
  };
  add("add", addition(4096));
  add("transpose", single(m, t, "transpose(p0), dimensions={1,0}"));
  add("copy", single(m, m, "copy(p0)"));
  add("sort", single(m, m, "sort(p0), dimensions={1}, to_apply=lt",
                     "lt {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = pred[] "
                     "compare(a, b), direction=LT\n}\n"));
  add("cholesky", single("f32[256,256]", "f32[256,256]", "cholesky(p0)"));
  add("fft", single("c64[64,256]", "c64[64,256]", "fft(p0), fft_type=FFT, fft_length={256}"));
  add("reverse", single(m, m, "reverse(p0), dimensions={0}"));
  add("iota", kernel_of("HloModule m\nENTRY main {\n  ROOT r = s32[1024,1024] iota(), "
                        "iota_dimension=0\n}\n"));
  add("scalar", single("f32[]", "f32[]", "negate(p0)"));
  add("rank 9", single("f32[2,2,2,2,2,2,2,2,2]", "f32[2,2,2,2,2,2,2,2,2]", "negate(p0)"));
  add("all-reduce", single(m, m, "all-reduce(p0), replica_groups={}, to_apply=adder", kAdder));
  add("custom-call", single(m, m, "custom-call(p0), custom_call_target=\"Mystery\""));
  add("copy-start",
      kernel_of("HloModule m\nENTRY main {\n  p0 = " + m + " parameter(0)\n  s = (" + m + ", " + m +
                ", u32[]) copy-start(p0)\n  ROOT r = " + m + " copy-done(s)\n}\n"));
  add("empty", single("f32[0,1024]", "f32[0,1024]", "negate(p0)"));
  add("reduce of nothing",
      kernel_of(fusion({"f32[0,1024]"}, "f32[1024]",
                       "  zero = f32[] constant(0)\n  ROOT r = f32[1024] reduce(p0, zero), "
                       "dimensions={0}, to_apply=adder")));
  return kernels;
}

TEST(AnalyticalModel, AnswersEveryKindOfKernelSoundly) {
  for (const auto& [what, kernel] : kernels_of_every_kind()) {
    for (const char* device : {"tpu_v2", "tpu_v3", "tpu_v4", "tpu_v5e", "tpu_v5p", "tpu_v6e"}) {
      const auto d = hwdesc::load_device(device);
      const auto answer = AnalyticalModel().estimate(std::vector<KernelQuery>{{kernel}}, d)[0];
      ASSERT_TRUE(answer.has_value()) << what << " on " << device;
      expect_sound(*answer, what + " on " + device);
    }
  }
}

TEST(AnalyticalModel, AnswersABatchInOrderAndAsOneByOne) {
  const auto kernels = kernels_of_every_kind();
  const hwdesc::Device device = tpu();
  std::vector<KernelQuery> queries;
  for (const auto& [what, kernel] : kernels) queries.push_back({kernel});
  const auto answers = AnalyticalModel().estimate(queries, device);
  ASSERT_EQ(answers.size(), kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(answers[i]->time, KernelAnalysis(kernels[i].second, device).estimate_best().time);
  }
}

TEST(AnalyticalModel, TakesTheCollectiveModelForCollectives) {
  const std::string m = array("f32", {512, 1024});
  const ir::Kernel k = single(m, m, "all-reduce(p0), replica_groups={}, to_apply=adder", kAdder);
  const Estimate e = KernelAnalysis(k, tpu()).estimate_best();
  EXPECT_EQ(e.time, collective_time(k, tpu()).time + tpu().dispatch.kernel_launch);
  EXPECT_FALSE(e.flags.empty());
}

TEST(AnalyticalModel, FlagsACustomCallItKnowsNothingAbout) {
  const std::string m = array("f32", {512, 1024});
  const ir::Kernel k = single(m, m, "custom-call(p0), custom_call_target=\"Mystery\"");
  const Estimate e = KernelAnalysis(k, tpu()).estimate_best();
  ASSERT_EQ(e.flags.size(), 1U);
  EXPECT_THAT(e.flags[0], HasSubstr("opaque"));
  EXPECT_EQ(e.hbm_read.value, 512 * 1024 * 4.0);
  EXPECT_EQ(e.hbm_write.value, 512 * 1024 * 4.0);
}

TEST(AnalyticalModel, TrustsTheCostEstimateOfACustomCall) {
  ir::KernelBuilder b("call", ir::Opcode::kCustomCall);
  const ir::Shape shape = ir::Shape::array(ir::DType::kF32, {512, 1024});
  ir::Op op;
  op.opcode = ir::Opcode::kCustomCall;
  op.shape = shape;
  op.operands = {b.parameter(shape)};
  op.attrs = ir::CustomCallAttrs{};
  const ir::OpId call = b.add(std::move(op));
  b.set_custom_call_cost({.flops = 1e12, .transcendentals = 0, .bytes_accessed = 1e6});
  const ir::Kernel k = b.build({call});
  const hwdesc::Device d = tpu();
  const Estimate e = KernelAnalysis(k, d).estimate_best();
  const double expected = 1e12 / d.matrix_peak("bf16").value + d.memory[0].latency.value;
  EXPECT_NEAR(e.time.value, expected, 1e-9 * expected);
  EXPECT_EQ(e.bound, Bound::kMatrix);
  EXPECT_THAT(e.flags[0], HasSubstr("operations that it states"));
}

TEST(AnalyticalModel, ChargesEmptyResultsTheLaunchOnly) {
  hwdesc::Device d = tpu();
  d.dispatch.kernel_launch = Seconds{3e-6};
  const Estimate e =
      KernelAnalysis(single("f32[0,1024]", "f32[0,1024]", "negate(p0)"), d).estimate_best();
  EXPECT_EQ(e.time.value, 3e-6);
  EXPECT_EQ(e.bound, Bound::kOverhead);
}

ir::Kernel with_compiler_tile(ir::Dims output) {
  ir::KernelBuilder b("add", ir::Opcode::kAdd);
  ir::Shape shape = ir::Shape::array(ir::DType::kF32, {8192, 1024});
  shape.layout = ir::default_layout(2);
  shape.layout.edit().tiles = {{8, 128}};
  ir::Op op;
  op.opcode = ir::Opcode::kAdd;
  op.shape = shape;
  op.operands = {b.parameter(shape), b.parameter(shape)};
  const ir::OpId sum = b.add(std::move(op));
  ir::CompilerTile tile;
  tile.output_bounds = std::move(output);
  b.set_compiler_tile(std::move(tile));
  return b.build({sum});
}

TEST(AnalyticalModel, TakesTheCompilersTileWhenItFits) {
  const Estimate e = KernelAnalysis(with_compiler_tile({3, 8}), tpu()).estimate_best();
  EXPECT_EQ(e.tile.output, (ir::Dims{3, 8}));
  const Estimate best = KernelAnalysis(addition(8192), tpu()).estimate_best();
  EXPECT_GT(e.time, best.time);
}

TEST(AnalyticalModel, TakesTheCompilersTileWhereItDoesNotFitHereAndSaysSo) {
  const Estimate e = KernelAnalysis(with_compiler_tile({1024, 8}), tpu()).estimate_best();
  EXPECT_EQ(e.tile.output, (ir::Dims{1024, 8}));
  ASSERT_FALSE(e.flags.empty());
  EXPECT_THAT(e.flags.back(), HasSubstr("compiler's tile"));
}

// 16 products of [64,128] with [128,256], as TPU dumps write them; `bounds` of their window_config.
ir::Kernel batched_products(const std::string& bounds) {
  const std::string a = array("bf16", {16, 64, 128}), b = array("bf16", {16, 128, 256});
  const std::string c = array("f32", {16, 64, 256});
  return kernel_of("HloModule m\nENTRY main {\n  a = " + a + " parameter(0)\n  b = " + b +
                   " parameter(1)\n  ROOT c = " + c +
                   " convolution(a, b), window={size=16 stride=15 lhs_dilate=16}, "
                   "dim_labels=0bf_0io->0bf, backend_config={\"window_config\":{" +
                   bounds + "}}\n}\n");
}

TEST(AnalyticalModel, LoopsOfADumpSayTheTileWhereItStatesNoWindows) {
  const ir::Kernel with_loops =
      batched_products(R"("iteration_bounds":["16","2","1","1"],"estimated_cycles":"9")");
  const ir::Kernel with_windows =
      batched_products(R"("output_window_bounds":["1","4","2"],"kernel_window_bounds":[])");
  const hwdesc::Device device = tpu();
  const KernelAnalysis counted(with_loops, device), windows(with_windows, device);
  ASSERT_TRUE(counted.compiler_tile() && windows.compiler_tile());
  EXPECT_EQ(counted.compiler_tile()->output, (ir::Dims{1, 64 / 8 / 2, 256 / 128}));
  const Estimate e = counted.estimate_best();
  EXPECT_EQ(e.iterations, 16 * 2);
  EXPECT_EQ(e.time, windows.estimate_best().time);
}

TEST(AnalyticalModel, LoopsOfAnotherNestAndCyclesAloneSayNoTile) {
  const ir::Kernel silent = batched_products("");
  const hwdesc::Device device = tpu();
  const Seconds own = KernelAnalysis(silent, device).estimate_best().time;
  for (const char* bounds :
       {R"("iteration_bounds":["16","2"])", R"("iteration_bounds":[],"estimated_cycles":"9")"}) {
    const ir::Kernel kernel = batched_products(bounds);
    const KernelAnalysis analysis(kernel, device);
    EXPECT_FALSE(analysis.compiler_tile()) << bounds;
    EXPECT_EQ(analysis.estimate_best().time, own) << bounds;
  }
}

TEST(AnalyticalModel, HasNoAnswerForATileThatDoesNotFit) {
  const ir::Kernel k = addition(8192);
  const TileConfig whole{};
  EXPECT_FALSE(
      AnalyticalModel().estimate(std::vector<KernelQuery>{{k, &whole}}, tpu())[0].has_value());
  const hwdesc::Device device = tpu();
  const auto answer = KernelAnalysis(k, device).estimate(whole);
  ASSERT_TRUE(std::holds_alternative<Infeasible>(answer));
  EXPECT_THAT(std::get<Infeasible>(answer).reason, HasSubstr("vmem"));
}

TEST(AnalyticalModel, UnrollAndOrderAreOfLoopsOfAProcessorCore) {
  const ir::Kernel k = addition(16);
  for (const char* name : {"tpu_v3", "a100_sxm_40gb", "cpu_generic"}) {
    const hwdesc::Device device = hwdesc::load_device(name);
    const KernelAnalysis analysis(k, device);
    TileConfig unrolled = analysis.full_tile(), ordered = unrolled;
    unrolled.unroll = 3;
    ordered.order = {2, 1};
    for (const TileConfig& tile : {unrolled, ordered}) {
      EXPECT_THAT(analysis.infeasible_reason(tile), HasSubstr("unroll")) << name;
      EXPECT_TRUE(std::isinf(analysis.time(tile).value)) << name;
    }
    EXPECT_EQ(analysis.infeasible_reason(analysis.full_tile()), "") << name;
  }
}

TEST(AnalyticalModel, BestIsTheFastestOfItsTiles) {
  const ir::Kernel k = addition(8192);
  const hwdesc::Device device = tpu();
  const KernelAnalysis analysis(k, device);
  double fastest = std::numeric_limits<double>::infinity();
  for (const TileConfig& tile : analysis.tiles()) {
    fastest = std::min(fastest, analysis.time(tile).value);
    const auto answer = analysis.estimate(tile);
    ASSERT_TRUE(std::holds_alternative<Estimate>(answer));
    expect_sound(std::get<Estimate>(answer), to_string(tile));
  }
  EXPECT_EQ(analysis.estimate_best().time.value, fastest);
}

TEST(AnalyticalModel, NoTileFitsIsAFewPassesAndSaysSo) {
  hwdesc::Device d = tpu();
  d.memory.back().capacity = Bytes{4096};
  const Estimate e = KernelAnalysis(addition(8192), d).estimate_best();
  expect_sound(e, "spilled");
  ASSERT_FALSE(e.flags.empty());
  EXPECT_THAT(e.flags, ::testing::Contains(HasSubstr("no tile fits")));
  const Seconds fits = KernelAnalysis(addition(8192), tpu()).estimate_best().time;
  EXPECT_GT(e.time, fits);
  constexpr double kPasses = 3;
  EXPECT_LT(e.time, (kPasses + 1) * fits);
}

}  // namespace
}  // namespace tilecast::analytical::testing

// Estimates of the analytical model for every kind of kernel.
#include "analytical/analytical_model.h"

#include <gmock/gmock.h>

#include <cmath>

#include "analytical/collective.h"
#include "analytical/iteration_space.h"
#include "analytical/roofline.h"
#include "analytical/tile_model.h"
#include "analytical/transfer.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/kernels/kernel_sketch.h"
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

// The windows of a result that a bitcast turned are those of the product in front of it: 16 rows of
// native tiles and 4 columns, whatever the result calls them.
TEST(KernelAnalysis, ABitcastTurnsTheTile) {
  const ir::Kernel k =
      kernel_of(fusion({"bf16[2048,256]{1,0:T(8,128)(2,1)}", "bf16[256,2048]{1,0:T(8,128)(2,1)}"},
                       "f32[2048,2048]{0,1:T(8,128)}",
                       "  d = f32[2048,2048]{1,0:T(8,128)} dot(p0, p1), lhs_contracting_dims={1}, "
                       "rhs_contracting_dims={0}\n"
                       "  ROOT r = f32[2048,2048]{0,1:T(8,128)} bitcast(d)"));
  const TileConfig tile{.output = {16, 4}, .kernel = {32, 4}};
  const auto estimate = KernelAnalysis(k, tpu()).estimate(tile);
  constexpr double kColumns = 2048 / (4 * 128), kBytes = 2048 * 256 * 2;
  EXPECT_EQ(std::get<Estimate>(estimate).hbm_read.value, (kColumns + 1) * kBytes);
}

// What the compiler reserves for windows limits the tiles that stand in for its own.
TEST(KernelAnalysis, ChosenTilesKeepToTheWindowsOfTheDescription) {
  const auto used = [](std::int64_t limit) {
    ir::KernelBuilder b("sum", ir::Opcode::kAdd);
    const ir::Shape shape = ir::Shape::array(ir::DType::kF32, {4096, 4096});
    const ir::OpId x = b.parameter(shape), y = b.parameter(shape);
    b.set_window_bytes(limit);
    const ir::OpId sum = b.add({.opcode = ir::Opcode::kAdd, .shape = shape, .operands = {x, y}});
    const ir::Kernel kernel = b.build({sum});
    return KernelAnalysis(kernel, tpu()).estimate_best().scratchpad_used.value;
  };
  constexpr std::int64_t kLimit = std::int64_t{1} << 20;
  EXPECT_GT(used(0), kLimit);
  EXPECT_LE(used(kLimit), kLimit);
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

// Windows that make another number of steps are those of another result or of a nested product.
TEST(AnalyticalModel, LoopsOfADumpSayHowManyStepsThereAre) {
  const std::string small = R"("output_window_bounds":["1","1","1"],"iteration_bounds":)";
  const std::string halved = R"("output_window_bounds":["1","4","2"],"iteration_bounds":)";
  const hwdesc::Device device = tpu();
  const auto steps = [&](const std::string& bounds) {
    return KernelAnalysis(batched_products(bounds), device).estimate_best().iterations;
  };
  EXPECT_EQ(steps(small + R"(["1","1","1","1"])"), 1);
  EXPECT_EQ(steps(small + R"(["8","1","2","1"])"), 8 * 2);
  EXPECT_EQ(steps(small + R"(["2","4"])"), 8);                // other loops: the outermost are cut
  EXPECT_EQ(steps(small + R"(["2","1","16","1"])"), 32);      // more than there are columns
  EXPECT_EQ(steps(halved + R"(["8","2","1","1"])"), 16 * 2);  // each of two cores takes half
}

// Steps over arrays that stay on the chip cost their overhead: no passes over memory replace them.
TEST(AnalyticalModel, StepsOnTheChipTakeTheirOverhead) {
  const std::string shape = "f32[4096,1024]{1,0:T(8,128)S(1)}";
  const auto time_s = [&](const std::string& steps) {
    hwdesc::Device device = round_device();
    device.engines[0].iteration_overhead = Seconds{1e-3};  // far longer than anything else
    device.memory[1].capacity = Bytes{1e9};
    const ir::Kernel kernel = kernel_of("HloModule m\nENTRY main {\n  a = " + shape +
                                        " parameter(0)\n  ROOT c = " + shape +
                                        " negate(a), backend_config={\"window_config\":{" +
                                        "\"iteration_bounds\":[\"" + steps + "\",\"1\"]}}\n}\n");
    return KernelAnalysis(kernel, device).estimate_best().time.value;
  };
  EXPECT_NEAR(time_s("64"), 64e-3, 1e-3);
  EXPECT_NEAR(time_s("1"), 1e-3, 1e-4);
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

// Bottleneck analysis against formulas on machines with round numbers, and compared with the
// analytical model, which has the same resources.

namespace {

constexpr double kBandwidth = 100e9;  // of block_device() and round_device()

Estimate bottleneck(const KernelQuery& query, const hwdesc::Device& device) {
  const auto answer = BottleneckModel().estimate({&query, 1}, device).front();
  EXPECT_TRUE(answer.has_value());
  return answer.value_or(Estimate{});
}

Estimate analytical(const KernelQuery& query, const hwdesc::Device& device) {
  return AnalyticalModel().estimate({&query, 1}, device).front().value();
}

// Four blocks of 64 x 64 on four workers.
TileConfig square_tile() {
  return {.output = {64, 64}, .kernel = {32, 64}, .input = {}};
}

TEST(Bottleneck, OfAProductIsItsFlopsAtThePeakOfTheUnits) {
  hwdesc::Device device = block_device();
  device.matrix.rows_per_cycle = 0.1;
  device.vector.lanes = 8;
  const ir::Kernel kernel = product_kernel(128, 128, 4096);
  const TileConfig tile = square_tile();
  const Estimate e = bottleneck({kernel, &tile}, device);
  const double flops_s = 2.0 * 128 * 128 * 4096 / device.matrix_peak("f16").value;
  EXPECT_NEAR(e.time.value, flops_s, 1e-12 * flops_s);
  EXPECT_EQ(e.bound, Bound::kMatrix);
  EXPECT_EQ(e.tile, tile);
  EXPECT_EQ(e.model, "bottleneck");
}

TEST(Bottleneck, OfAStreamIsItsBytesAtTheRateOfMainMemory) {
  const ir::Kernel kernel = chain_kernel(1024, 1024, 1);
  hwdesc::Device device = block_device();
  const Estimate e = bottleneck({kernel}, device);
  const double moved_s = (e.hbm_read + e.hbm_write).value / kBandwidth;
  EXPECT_GE(e.hbm_read.value, 4.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(e.hbm_write.value, 4.0 * 1024 * 1024);
  EXPECT_NEAR(e.time.value, moved_s, 1e-12 * moved_s);
  EXPECT_EQ(e.bound, Bound::kHbmRead);
  device.memory[0].full_duplex = true;  // reads and writes concurrently
  const Estimate duplex = bottleneck({kernel}, device);
  EXPECT_NEAR(duplex.time.value, e.hbm_read.value / kBandwidth, 1e-12 * moved_s);
}

TEST(Bottleneck, KnowsNoLatencyNoStagesAndNoLaunch) {
  const ir::Kernel kernel = product_kernel(128, 128, 4096);
  const TileConfig tile = square_tile();
  hwdesc::Device device = block_device();
  const Estimate before = bottleneck({kernel, &tile}, device);
  const double pipelined_s = analytical({kernel, &tile}, device).time.value;
  device.memory[0].latency = Seconds{1e-3};
  device.dispatch.kernel_launch = Seconds{1e-3};
  device.engines[0].stages = 1;
  EXPECT_EQ(bottleneck({kernel, &tile}, device).time, before.time);
  EXPECT_GT(analytical({kernel, &tile}, device).time.value, pipelined_s + 1e-3);
  for (const Bound beside : {Bound::kLatency, Bound::kFillDrain, Bound::kOverhead}) {
    EXPECT_EQ(before.bounds[static_cast<std::size_t>(beside)].value, 0) << name(beside);
  }
}

TEST(Bottleneck, IsTheLongestResourceOfTheAnalyticalModelOnShippedDevices) {
  const ir::Kernel kernel = product_kernel(1024, 512, 2048);
  for (const char* preset : {"a100_sxm_40gb", "h100_sxm", "tpu_v3", "tpu_v5e", "cpu_generic"}) {
    const hwdesc::Device device = hwdesc::load_device(preset);
    const auto tiles = KernelAnalysis(kernel, device).tiles(500);
    ASSERT_FALSE(tiles.empty()) << preset;
    for (const TileConfig& tile : tiles) {
      const Estimate whole = analytical({kernel, &tile}, device);
      const Estimate e = bottleneck({kernel, &tile}, device);
      double longest = e.speed_of_light.value;
      for (const Bound bound : {Bound::kHbmRead, Bound::kHbmWrite, Bound::kMatrix, Bound::kVector,
                                Bound::kTranscendental, Bound::kCrossLane, Bound::kOnChip}) {
        longest = std::max(longest, whole.bounds[static_cast<std::size_t>(bound)].value);
      }
      const double memory_s = whole.bounds[0].value + whole.bounds[1].value;
      EXPECT_GE(e.time.value, longest) << preset;
      EXPECT_LE(e.time.value, std::max(longest, memory_s)) << preset;
      EXPECT_GE(e.next_time.value, 0);
      EXPECT_LE(e.next_time, e.time);
    }
  }
}

TEST(Bottleneck, ChoosesItsOwnTile) {
  const ir::Kernel kernel = product_kernel(1024, 512, 2048);
  const hwdesc::Device device = hwdesc::load_device("a100_sxm_40gb");
  const Estimate chosen = bottleneck({kernel}, device);
  for (const TileConfig& tile : KernelAnalysis(kernel, device).tiles()) {
    EXPECT_LE(chosen.time, bottleneck({kernel, &tile}, device).time) << to_string(tile);
  }
}

TEST(Bottleneck, HasNoAnswerForATileThatCannotRun) {
  const ir::Kernel kernel = product_kernel(1024, 1024, 1024);
  const TileConfig too_large{.output = {1024, 1024}, .kernel = {1024, 1024}, .input = {}};
  const KernelQuery query{kernel, &too_large};
  EXPECT_FALSE(BottleneckModel().estimate({&query, 1}, block_device()).front().has_value());
}

}  // namespace

// Ops that compilers implement differently from their definition: windows over whole rows, scans,
// sorts and selections, solvers, grouped products, several nests in one kernel.

namespace {

constexpr const char* kMachines[] = {"tpu_v3", "tpu_v5e", "h100_sxm", "v100_pcie", "mi300x"};

std::string combiner(const std::string& t, const std::string& opcode) {
  return "c {\n  a = " + t + "[] parameter(0)\n  b = " + t + "[] parameter(1)\n  ROOT s = " + t +
         "[] " + opcode + "(a, b)\n}\n";
}

Estimate best(const std::string& hlo, const std::string& device) {
  return KernelAnalysis(kernel_of(hlo), hwdesc::load_device(device)).estimate_best();
}

std::string window_over_rows(std::int64_t n, std::int64_t size, std::int64_t low,
                             std::int64_t high) {
  const std::string rows = "f32[512," + std::to_string(n) + "]";
  return "HloModule m\n" + combiner("f32", "maximum") + "ENTRY e {\n  p = " + rows +
         " parameter(0)\n  z = f32[] parameter(1)\n  ROOT r = " + rows +
         " reduce-window(p, z), window={size=1x" + std::to_string(size) + " pad=0_0x" +
         std::to_string(low) + "_" + std::to_string(high) + "}, to_apply=c\n}\n";
}

std::string negation(std::int64_t n) {
  const std::string rows = "f32[512," + std::to_string(n) + "]";
  return "HloModule m\nENTRY e {\n  p = " + rows + " parameter(0)\n  ROOT r = " + rows +
         " negate(p)\n}\n";
}

TEST(RewrittenOps, AWindowOverTheWholeRowIsOneReduction) {
  constexpr std::int64_t kLength = 4096;
  for (const char* device : kMachines) {
    const double once_s = best(negation(kLength), device).time.value;
    const double window_s =
        best(window_over_rows(kLength, 2 * kLength - 1, kLength - 1, kLength - 1), device)
            .time.value;
    EXPECT_LT(window_s, 3 * once_s) << device;
  }
}

TEST(RewrittenOps, AScanCostsTheLogarithmOfItsRow) {
  constexpr std::int64_t kLength = 4096, kSteps = 12;
  static_assert(std::int64_t{1} << kSteps == kLength);
  for (const char* device : kMachines) {
    const double once_s = best(negation(kLength), device).time.value;
    const double scan_s =
        best(window_over_rows(kLength, kLength, kLength - 1, 0), device).time.value;
    EXPECT_GE(scan_s, once_s * (1 - 1e-9)) << device;
    EXPECT_LT(scan_s, kSteps * once_s) << device;
  }
}

TEST(RewrittenOps, AnAssociativeScanCostsAsItsWindow) {
  constexpr std::int64_t kLength = 4096;
  const std::string rows = "f32[512,4096]", carry = "f32[512]";
  const auto scan = [&](const std::string& opcode) {
    return "HloModule m\nc {\n  a = f32[512] parameter(0)\n  b = f32[512] parameter(1)\n" +
           ("  s = f32[512] " + opcode) +
           "(a, b)\n  ROOT t = (f32[512], f32[512]) tuple(s, s)\n}\nENTRY e {\n  p = " + rows +
           " parameter(0)\n  i = " + carry + " parameter(1)\n  ROOT r = (" + rows + ", " + carry +
           ") scan(p, i), dimensions={1}, num_carries=1, to_apply=c\n}\n";
  };
  for (const char* device : kMachines) {
    const double window_s =
        best(window_over_rows(kLength, kLength, kLength - 1, 0), device).time.value;
    EXPECT_NEAR(best(scan("maximum"), device).time.value / window_s, 1, 0.01) << device;
    // Each step of this one waits for the step before.
    EXPECT_GT(best(scan("subtract"), device).time.value, 2 * window_s) << device;
  }
}

TEST(RewrittenOps, AShortWindowCostsItsSize) {
  const hwdesc::Device device = round_device();
  const auto vector_s = [&](std::int64_t size) {
    const ir::Kernel kernel = kernel_of(window_over_rows(4096, size, size / 2, size / 2));
    const Estimate e = KernelAnalysis(kernel, device).estimate_best();
    return e.bounds[static_cast<std::size_t>(Bound::kVector)].value;
  };
  EXPECT_NEAR(vector_s(9) / vector_s(3), 3, 1e-9);
}

std::string product_over_two(const std::string& lhs, const std::string& rhs) {
  return "HloModule m\nENTRY e {\n  a = bf16[512,64,128] parameter(0)\n"
         "  b = bf16[64,128,1024] parameter(1)\n  ROOT d = bf16[512,1024] dot(a, b), "
         "lhs_contracting_dims={" +
         lhs + "}, rhs_contracting_dims={" + rhs + "}\n}\n";
}

TEST(RewrittenOps, TheOrderOfContractedDimensionsChangesNothing) {
  for (const char* device : {"tpu_v3", "h100_sxm", "cpu_generic"}) {
    EXPECT_EQ(best(product_over_two("1,2", "0,1"), device).time,
              best(product_over_two("2,1", "1,0"), device).time)
        << device;
  }
}

std::string sort_of_pairs(std::int64_t n) {
  const std::string size = "[" + std::to_string(n) + "]";
  return "HloModule m\nless {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  c = s32[] parameter(2)\n  d = s32[] parameter(3)\n"
         "  ROOT s = pred[] compare(a, b), direction=LT\n}\nENTRY e {\n  k = f32" +
         size + " parameter(0)\n  v = s32" + size + " parameter(1)\n  ROOT r = (f32" + size +
         ", s32" + size + ") sort(k, v), dimensions={0}, to_apply=less\n}\n";
}

std::string top_k(std::int64_t n, std::int64_t k) {
  const std::string size = "[" + std::to_string(k) + "]";
  return "HloModule m\nENTRY e {\n  p = f32[" + std::to_string(n) +
         "] parameter(0)\n  ROOT r = (f32" + size + ", s32" + size +
         ") topk(p), k=" + std::to_string(k) + ", largest=true\n}\n";
}

TEST(RewrittenOps, LongSortsArePassesOverMemory) {
  for (const char* device : kMachines) {
    const hwdesc::Device described = hwdesc::load_device(device);
    double before_s = 0;
    for (std::int64_t n = 1 << 16; n <= 1 << 26; n *= 4) {
      const Estimate sorted = best(sort_of_pairs(n), device);
      EXPECT_GE(sorted.time.value, before_s) << device << " " << n;
      before_s = sorted.time.value;
    }
    constexpr double kPairs = 1 << 26, kPairBytes = 8, kMostPasses = 400;
    EXPECT_LT(before_s,
              kMostPasses * 2 * kPairs * kPairBytes / described.main_memory().bandwidth.value)
        << device;
  }
}

TEST(RewrittenOps, SelectingNearlyAllKeysIsASort) {
  constexpr std::int64_t kKeys = 1 << 22;
  for (const char* device : kMachines) {
    const double sort_s = best(sort_of_pairs(kKeys), device).time.value;
    EXPECT_NEAR(best(top_k(kKeys, kKeys - kKeys / 16), device).time.value, sort_s, 0.3 * sort_s)
        << device;
    EXPECT_LT(best(top_k(kKeys, 4), device).time.value, sort_s) << device;
  }
}

TEST(RewrittenOps, SolversComputeEveryColumnOnce) {
  const std::string text =
      "HloModule m\nENTRY e {\n  a = f32[2048,2048] parameter(0)\n"
      "  b = f32[2048,2048] parameter(1)\n  ROOT r = f32[2048,2048] triangular-solve(a, b), "
      "left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE\n}\n";
  for (const char* device : kMachines) {
    const Estimate e = best(text, device);
    EXPECT_LT(e.time.value, 6 * e.speed_of_light.value) << device;
  }
}

std::string grouped_product(std::int64_t rows, std::int64_t groups) {
  const std::string r = std::to_string(rows), g = std::to_string(groups);
  return "HloModule m\nENTRY e {\n  a = bf16[" + r + ",1024] parameter(0)\n  b = bf16[" + g +
         ",1024,2048] parameter(1)\n  s = s32[" + g + "] parameter(2)\n  ROOT d = bf16[" + r +
         ",2048] ragged-dot(a, b, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
         "lhs_ragged_dims={0}, rhs_group_dims={0}\n}\n";
}

std::string plain_product(std::int64_t rows) {
  const std::string r = std::to_string(rows);
  return "HloModule m\nENTRY e {\n  a = bf16[" + r +
         ",1024] parameter(0)\n  b = bf16[1024,2048] parameter(1)\n  ROOT d = bf16[" + r +
         ",2048] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
}

TEST(RewrittenOps, GroupedProductsMultiplyEveryRowOnceOnEveryMachine) {
  for (const char* device :
       {"tpu_v3", "tpu_v5e", "h100_sxm", "a100_sxm_40gb", "mi300x", "cpu_generic"}) {
    const Estimate grouped = best(grouped_product(16384, 8), device);
    const Estimate plain = best(plain_product(16384), device);
    EXPECT_EQ(grouped.flops.value, 2.0 * 16384 * 1024 * 2048) << device;
    EXPECT_GE(grouped.time.value, plain.time.value * (1 - 1e-9)) << device;
    EXPECT_LT(grouped.time.value, 1.6 * plain.time.value) << device;
  }
}

TEST(RewrittenOps, FewRowsReadTheWeightsOfFewGroups) {
  constexpr double kWeights = 1024.0 * 2048 * 2, kRows = 8;
  for (const char* device : {"tpu_v3", "h100_sxm", "a100_sxm_40gb", "cpu_generic"}) {
    const Estimate e = best(grouped_product(8, 64), device);
    EXPECT_LT(e.hbm_read.value, 1.3 * kRows * kWeights) << device;
  }
}

TEST(RewrittenOps, GroupsThatRowsAreExpectedToMeetAreRead) {
  constexpr double kMatrix = 1024.0 * 2048 * 2, kRows = 48, kGroups = 64;
  const double met = kGroups * (1 - std::pow(1 - 1 / kGroups, kRows));
  const Estimate e = best(grouped_product(48, 64), "h100_sxm");
  EXPECT_GE(e.hbm_read.value, met * kMatrix + kRows * 1024 * 2);
  constexpr double kLeastColumns = 32;  // of a block: the rows are read again for each
  EXPECT_LT(e.hbm_read.value, met * kMatrix + kRows * 1024 * 2 * (2048 / kLeastColumns));
  EXPECT_THAT(e.flags, ::testing::Contains("34 of 64 groups are expected to have rows"));
}

TEST(RewrittenOps, KnownGroupsAreReadIfTheyHaveRowsAndPaddedToTiles) {
  const ir::LayoutRules plain{.tiled = false};
  ir::KernelSketch sketch("grouped", ir::Opcode::kRaggedDot, plain);
  const auto rows = sketch.parameter(ir::DType::kBF16, {66, 128});
  const auto matrices = sketch.parameter(ir::DType::kBF16, {4, 128, 256});
  const ir::Kernel kernel =
      sketch.build({sketch.ragged_dot(rows, matrices, {65, 0, 1, 0}, ir::DType::kBF16)});
  const hwdesc::Device device = hwdesc::load_device("h100_sxm");
  EXPECT_DOUBLE_EQ(distinct_traffic(kernel, device).read.value, 2.0 * (66 * 128 + 2 * 128 * 256));
  const Loop loop{.size = 66, .groups = {65, 1}};
  EXPECT_EQ(loop.padded_tiles(64), 3);
}

// Updates of one row in each of these caches, in one fusion.
std::string updates(const std::vector<std::size_t>& caches) {
  const std::string sizes[] = {"bf16[64,1024,256]", "bf16[32,2048,512]"};
  const std::string rows[] = {"bf16[64,1,256]", "bf16[32,1,512]"};
  std::vector<std::string> parameters;
  std::string body = "  z = s32[] constant(0)\n", result, roots;
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const std::string& cache = sizes[caches[i]];
    const std::string n = std::to_string(i);
    parameters.insert(parameters.end(), {cache, rows[caches[i]]});
    body += "  d" + n + " = " + cache + " dynamic-update-slice(p" + std::to_string(2 * i) + ", p" +
            std::to_string(2 * i + 1) + ", z, z, z)\n";
    result += (i > 0 ? ", " : "") + cache;
    roots += (i > 0 ? ", d" : "d") + n;
  }
  result = "(" + result + ")";
  return fusion(parameters, result, body + "  ROOT o = " + result + " tuple(" + roots + ")\n");
}

TEST(RewrittenOps, WhatAFusionDoesSideBySideAddsUp) {
  const ir::Kernel both = kernel_of(updates({0, 1}));
  ASSERT_EQ(loop_nests(both).size(), 2);
  EXPECT_TRUE(loop_nests(kernel_of(updates({0}))).empty());
  for (const char* device : kMachines) {
    const double one_s = best(updates({0}), device).time.value;
    const double other_s = best(updates({1}), device).time.value;
    const double both_s = best(updates({0, 1}), device).time.value;
    EXPECT_GT(both_s, std::max(one_s, other_s)) << device;
    EXPECT_LE(both_s, (one_s + other_s) * (1 + 1e-9)) << device;
  }
}

TEST(RewrittenOps, CopiesToTheHostTakeTheLink) {
  const std::string text =
      "HloModule m\nENTRY e {\n  p = f32[4096,4096]{1,0} parameter(0)\n"
      "  ROOT c = f32[4096,4096]{1,0:S(5)} copy(p)\n}\n";
  const double bytes = 4096.0 * 4096 * 4;
  for (const char* name : kMachines) {
    const hwdesc::Device device = hwdesc::load_device(name);
    ASSERT_TRUE(device.host_link) << name;
    const double link_s = bytes / device.host_link->bandwidth.value * device.cores_per_chip;
    const Estimate e = best(text, name);
    EXPECT_GE(e.time.value, link_s) << name;
    EXPECT_LT(e.time.value, 1.1 * link_s) << name;
    EXPECT_EQ(e.bound, Bound::kNetwork) << name;
    EXPECT_EQ(e.hbm_write.value, 0) << name;
  }
}

}  // namespace
}  // namespace tilecast::analytical::testing

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analytical/analytical_model.h"
#include "analytical/reuse.h"
#include "ir/counts/work_counts.h"
#include "ir/text/hlo_parser.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

// The kernel of the entry's root, in a module that XLA:GPU has compiled.
ir::Kernel compiled(const std::string& text) {
  const ir::Module module = ir::parse_hlo(base::SourceText("m.hlo", text));
  ir::WorkCounter counter(module);
  return ir::make_kernel(module, module.entry, module.entry_computation().root, counter, true);
}

std::string tiled(const std::string& sizes, int warps) {
  return fmt::format(
      R"(, backend_config={{"fusion_backend_config":{{"kind":"__triton","block_level_fusion_config")"
      R"(:{{"num_warps":"{}","output_tiles":[{{"sizes":[{}]}}]}}}}}})",
      warps, sizes);
}

ir::Kernel negation(const std::string& kind) {
  return compiled(fmt::format(R"(HloModule m, is_scheduled=true
f {{ x = f32[1048576] parameter(0)
  ROOT y = f32[1048576] negate(x) }}
ENTRY e {{ x = f32[1048576] parameter(0)
  ROOT y = f32[1048576] fusion(x), kind={}, calls=f }})",
                              kind));
}

ir::Kernel transposition(const std::string& kind) {
  return compiled(fmt::format(R"(HloModule m, is_scheduled=true
f {{ x = s8[1024,1024] parameter(0)
  ROOT y = s8[1024,1024] transpose(x), dimensions={{1,0}} }}
ENTRY e {{ x = s8[1024,1024] parameter(0)
  ROOT y = s8[1024,1024] fusion(x), kind={}, calls=f }})",
                              kind));
}

// Softmax of the rows; `more` is done to its result.
ir::Kernel softmax(const std::string& tile, int warps, const std::string& more = "") {
  const std::string root = more.empty() ? "ROOT r" : "r";
  return compiled(fmt::format(R"(HloModule m, is_scheduled=true
add {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }}
f {{ x = f32[4096,2048] parameter(0)
  zero = f32[] constant(0)
  p = f32[4096,2048] exponential(x)
  s = f32[4096] reduce(p, zero), dimensions={{1}}, to_apply=add
  d = f32[4096,2048] broadcast(s), dimensions={{0}}
  {} = f32[4096,2048] divide(p, d)
  {} }}
ENTRY e {{ x = f32[4096,2048] parameter(0)
  ROOT r = f32[4096,2048] fusion(x), kind=kCustom, calls=f{} }})",
                              root, more, tiled(tile, warps)));
}

// A sum over `dimension`.
ir::Kernel sum(const std::string& read, const std::string& made, int dimension) {
  return compiled(fmt::format(R"(HloModule m, is_scheduled=true
add {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }}
f {{ x = {0} parameter(0)
  zero = f32[] constant(0)
  ROOT s = {1} reduce(x, zero), dimensions={{{2}}}, to_apply=add }}
ENTRY e {{ x = {0} parameter(0)
  ROOT r = {1} fusion(x), kind=kInput, calls=f }})",
                              read, made, dimension));
}

// Main memory is waited for three times, a microsecond each.
constexpr double kWaits = 3e-6;

hwdesc::Device gpu() {
  hwdesc::Device device = block_device();
  device.multiplexing.max_resident = 16;
  device.multiplexing.warps_per_block = 4;
  device.multiplexing.registers_per_worker = Bytes{256.0 * 1024};
  return device;
}

Estimate estimate(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return KernelAnalysis(kernel, device).estimate_best();
}

TEST(SimtCode, WarpsOfALoopStartOneAfterTheOther) {
  hwdesc::Device device = gpu();
  device.multiplexing.warp_start = Seconds{0.25e-6};  // four warps
  const double blocks = 1048576.0 / (4 * 128);        // four results per thread
  const Estimate loop = estimate(negation("kLoop"), device);
  EXPECT_NEAR(loop.time.value, blocks * 1e-6 + kWaits, 1e-12);
  EXPECT_EQ(loop.bound, Bound::kIssue);
  EXPECT_EQ(loop.tile.output, ir::Dims{512});
  device.multiplexing.warp_start = Seconds{0};
  EXPECT_EQ(estimate(negation("kLoop"), device).bounds[index_of(Bound::kIssue)].value, 0);
}

TEST(SimtCode, RequestsInFlightBoundTheRateOfMemory) {
  const double m = 2 * 4 * 1048576.0 / 100e9;
  const double in_flight = 4 * 2048 * 32;  // bytes: workers, threads, two loads of 16
  const double w = 2 * 4 * 1048576.0 * 1e-6 / in_flight;
  EXPECT_NEAR(estimate(negation("kLoop"), gpu()).time.value, std::hypot(m, w) + kWaits, 1e-12);
}

TEST(SimtCode, AThreadReducesSixteenElements) {
  const auto starts_s = [](const ir::Kernel& kernel) {
    hwdesc::Device device = gpu();
    device.multiplexing.warp_start = Seconds{1e-6};
    return estimate(kernel, device).time.value - kWaits;
  };
  constexpr double kWarp = 32;
  EXPECT_NEAR(starts_s(sum("f32[1024,2048]", "f32[1024]", 1)), 1024 * 2048 / 16 / kWarp * 1e-6,
              1e-12);
  EXPECT_NEAR(starts_s(sum("f32[2048,1024]", "f32[1024]", 0)), 1024 * 2048 / 16 / kWarp * 1e-6,
              1e-12);
  EXPECT_NEAR(starts_s(sum("f32[262144,8]", "f32[262144]", 1)), 262144 / kWarp * 1e-6, 1e-12);
}

TEST(SimtCode, FewThreadsOfAReductionHideLittleLatency) {
  const double bytes = 4 * 65536.0 + 4 * 64;
  const double w = bytes * 1e-6 / (65536 / 16 * 16);  // four elements in flight of a column
  const double m = bytes / 100e9;
  EXPECT_NEAR(estimate(sum("f32[1024,64]", "f32[64]", 0), gpu()).time.value,
              std::hypot(m, w) + kWaits, 1e-9);
}

TEST(SimtCode, ALoopThatTransposesReadsASectorPerElement) {
  hwdesc::Device device = gpu();
  device.memory.insert(device.memory.begin() + 1, device.memory[0]);
  device.memory[1].granule = Bytes{32};
  device.memory[1].capacity = Bytes{1e8};
  device.engines.resize(2);
  const double elements = 1024.0 * 1024;
  const Estimate loop = estimate(transposition("kLoop"), device);
  EXPECT_EQ(loop.inner_bytes[0].value, elements * (32 + 1));
  EXPECT_EQ(loop.hbm_read.value, elements);
  EXPECT_LT(estimate(transposition("kInput"), device).inner_bytes[0].value, elements * 4);
}

TEST(SimtCode, WhatAReductionMustKeepTakesRegistersAndTheseThreads) {
  const double bytes = 2 * 4 * 4096.0 * 2048;
  const double m = bytes / 100e9;
  const auto with_threads = [&](double threads) {
    return std::hypot(m, bytes * 1e-6 / (4 * threads * 32)) + kWaits;
  };
  // 8 rows of 2048 over 256 threads: 64 registers each beside their own 30, so two blocks.
  const Estimate large = estimate(softmax("8,2048", 8), gpu());
  EXPECT_NEAR(large.time.value, with_threads(2 * 256), 1e-9);
  EXPECT_EQ(large.tile.output, (ir::Dims{8, 2048}));
  // One row over 128 threads: 16 registers, 11 blocks.
  const Estimate small = estimate(softmax("1,2048", 4), gpu());
  EXPECT_NEAR(small.time.value, with_threads(11 * 128), 1e-9);
}

TEST(SimtCode, OnlyValuesNeededAfterAReductionAreKept) {
  EXPECT_EQ(kept_over_reductions(softmax("1,2048", 4)), 4);  // the powers
  EXPECT_EQ(kept_over_reductions(softmax("1,2048", 4, "ROOT t = f32[4096,2048] subtract(r, x)")),
            8);  // and the argument
  EXPECT_EQ(kept_over_reductions(sum_kernel(64, 2048, 1)), 0);
}

TEST(SimtCode, IsReadOnlyFromWhatXlaCompiledForGpus) {
  EXPECT_TRUE(negation("kLoop").gpu_code());
  EXPECT_FALSE(negation("kOutput").gpu_code());
  EXPECT_FALSE(kernel_of(fusion({"f32[8]"}, "f32[8]", "ROOT r = f32[8] negate(p0)")).gpu_code());
  const auto code = softmax("8,2048", 8).gpu_code();
  ASSERT_TRUE(code);
  EXPECT_EQ(code->tile, (ir::Dims{8, 2048}));
  EXPECT_EQ(code->warps, 8);
  EXPECT_FALSE(softmax("8,-1", 8).gpu_code()) << "not a tile";
  EXPECT_FALSE(softmax("8,2048", 64).gpu_code()) << "more warps than a block has";
}

}  // namespace
}  // namespace tilecast::analytical::testing

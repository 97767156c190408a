// Fused attention: published rates, bounds, and that more work takes no less time.
#include "ir/attention.h"

#include <gtest/gtest.h>

#include <string_view>

#include "analytical/analytical_model.h"
#include "hwdesc/device.h"
#include "hwdesc/device_yaml.h"
#include "ir/kernel.h"

namespace tilecast::analytical {
namespace {

using ir::Attention;

Estimate estimate(const Attention& of, const hwdesc::Device& device) {
  const ir::Kernel kernel = ir::attention_kernel(of);
  return KernelAnalysis(kernel, device).estimate_best();
}

double time_s(const Attention& of, const std::string& device) {
  return estimate(of, hwdesc::load_device(device)).time.value;
}

Attention square(std::int64_t length, std::int64_t width) {
  return {.batch = 16384 / length,
          .heads = 2048 / width,
          .kv_heads = 2048 / width,
          .queries = length,
          .keys = length,
          .width = width,
          .value_width = width};
}

double tflops(const Attention& of, const std::string& device) {
  constexpr double kTera = 1e12;
  return ir::cost_of(of).flops / time_s(of, device) / kTera;
}

// The fastest forward kernels of FlashAttention-2 (arXiv:2307.08691) on an A100 and of -3
// (arXiv:2407.08608) on an H100, and the latter's ablation without a mask.
TEST(FusedAttention, ReachesThePublishedRates) {
  EXPECT_NEAR(tflops(square(16384, 128), "a100_sxm_80gb"), 230, 23);
  EXPECT_NEAR(tflops(square(16384, 256), "h100_sxm"), 740, 74);
  const Attention ablation{.batch = 4,
                           .heads = 16,
                           .kv_heads = 16,
                           .queries = 8448,
                           .keys = 8448,
                           .width = 128,
                           .value_width = 128};
  EXPECT_NEAR(tflops(ablation, "h100_sxm"), 661, 66);
}

TEST(FusedAttention, NarrowHeadsAreSlower) {
  for (const char* device : {"a100_sxm_80gb", "h100_sxm"}) {
    EXPECT_LT(tflops(square(16384, 64), device), tflops(square(16384, 128), device)) << device;
  }
}

TEST(FusedAttention, MasksSkipTiles) {
  Attention of = square(16384, 128);
  const double all = time_s(of, "h100_sxm");
  of.causal = true;
  const double half = time_s(of, "h100_sxm");
  EXPECT_GT(half, all / 2);
  EXPECT_LT(half, 0.6 * all);
  of.window = 1024;
  EXPECT_LT(time_s(of, "h100_sxm"), half / 4);
}

TEST(FusedAttention, OneQueryTakesAsLongAsItsKeysAreRead) {
  Attention of{
      .batch = 64, .heads = 32, .kv_heads = 8, .keys = 16384, .width = 128, .value_width = 128};
  const hwdesc::Device device = hwdesc::load_device("h200_sxm");
  const double read_s = ir::bytes_of(of).read / device.main_memory().sustained_read().value;
  const Estimate long_one = estimate(of, device);
  EXPECT_EQ(long_one.bound, Bound::kHbmRead);
  EXPECT_GT(long_one.time.value, read_s);
  EXPECT_LT(long_one.time.value, 1.05 * read_s);
  of.kv_dtype = ir::DType::kF8E4M3FN;
  const double share = estimate(of, device).time.value / long_one.time.value;
  EXPECT_GT(share, 0.5);  // half the bytes; then the softmax of blocks of few rows binds
  EXPECT_LT(share, 0.8);
}

TEST(FusedAttention, FewQueriesSpreadTheirKeysOverAllWorkers) {
  Attention of{.heads = 8, .kv_heads = 1, .keys = 131072, .width = 128, .value_width = 128};
  const double one = time_s(of, "h100_sxm");
  of.batch = 16;
  EXPECT_LT(time_s(of, "h100_sxm"), 12 * one);  // one block would leave 131 workers idle
  EXPECT_LT(one, 60e-6);
}

TEST(FusedAttention, MoreWorkTakesNoLessTime) {
  for (const char* device : {"a100_sxm_80gb", "h100_sxm", "b200", "tpu_v5p", "tpu_v6e"}) {
    for (const std::int64_t queries : {1, 16, 17, 512, 4096}) {
      Attention of{.batch = 2,
                   .heads = 16,
                   .kv_heads = 4,
                   .queries = queries,
                   .keys = 4096,
                   .width = 64,
                   .value_width = 64};
      const double least = time_s(of, device);
      const auto with = [&](auto Attention::*field, auto value) {
        Attention more = of;
        more.*field = value;
        return time_s(more, device);
      };
      EXPECT_GE(with(&Attention::keys, std::int64_t{8192}), least) << device << " " << queries;
      EXPECT_GE(with(&Attention::batch, std::int64_t{5}), least) << device << " " << queries;
      EXPECT_GE(with(&Attention::width, std::int64_t{128}), least) << device << " " << queries;
      // A core compares in tiles of which the mask hides a part: two more of six operations.
      const double compared = std::string_view(device).starts_with("tpu") ? 1 + 2.0 / 6 : 1;
      EXPECT_LE(with(&Attention::causal, queries > 1), compared * least) << device << queries;
    }
  }
}

TEST(FusedAttention, TakesLongerBackward) {
  Attention of = square(4096, 128);
  const double forward = time_s(of, "h100_sxm");
  of.backward = true;
  EXPECT_GT(time_s(of, "h100_sxm"), 2 * forward);
  EXPECT_LT(time_s(of, "h100_sxm"), 5 * forward);
}

// Splash attention of long rows: published runs reach 6.5e11 scores/s on a TPU v6e, 8e11 on v5p.
TEST(FusedAttention, OnTpusFollowsTheNumberOfScores) {
  const auto rate = [](std::int64_t width, const char* device) {
    const Attention of = square(16384, width);
    return ir::cost_of(of).transcendentals / time_s(of, device);
  };
  EXPECT_NEAR(rate(128, "tpu_v6e"), 6.5e11, 1e11);
  EXPECT_NEAR(rate(128, "tpu_v5p"), 8e11, 1e11);
  EXPECT_NEAR(rate(64, "tpu_v5p") / rate(128, "tpu_v5p"), 1, 0.1);
}

TEST(FusedAttention, FasterHardwareIsNoSlower) {
  const hwdesc::Overrides changes{{"clock", "2.4GHz"},     {"hbm.bandwidth", "5TB/s"},
                                  {"matrix.count", "8"},   {"transcendental.per_cycle", "32"},
                                  {"vector.lanes", "256"}, {"memory.l2.bandwidth", "20TB/s"}};
  for (const std::int64_t queries : {1, 512, 4096}) {
    const Attention of{.batch = 2,
                       .heads = 16,
                       .kv_heads = 4,
                       .queries = queries,
                       .keys = 4096,
                       .width = 128,
                       .value_width = 128};
    const double now = time_s(of, "h100_sxm");
    for (const auto& change : changes) {
      const hwdesc::Device faster = hwdesc::load_device("h100_sxm", {change});
      EXPECT_LE(estimate(of, faster).time.value, now * (1 + 1e-9)) << change.first << queries;
    }
  }
}

}  // namespace
}  // namespace tilecast::analytical

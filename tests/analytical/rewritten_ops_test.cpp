// Ops that compilers implement differently from their definition: windows over whole rows, scans,
// sorts and selections, solvers, grouped products, several nests in one kernel.
#include <gtest/gtest.h>

#include "analytical/analytical_model.h"
#include "analytical/loop_nests.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
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

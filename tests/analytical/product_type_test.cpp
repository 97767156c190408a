// The type in which machines multiply, and the number of products they need.
#include "analytical/product_type.h"

#include <gtest/gtest.h>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr double kSize = 4096;
constexpr double kFlops = 2 * kSize * kSize * kSize;

ir::Kernel product(const std::string& lhs, const std::string& rhs, const std::string& result,
                   const std::string& how = "") {
  const std::string size = "[4096,4096]";
  return kernel_of("HloModule m\nENTRY e {\n  a = " + lhs + size + " parameter(0)\n  b = " + rhs +
                   size + " parameter(1)\n  ROOT d = " + result + size +
                   " dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}" + how +
                   "\n}\n");
}

Estimate best(const ir::Kernel& kernel, const std::string& device) {
  return KernelAnalysis(kernel, hwdesc::load_device(device)).estimate_best();
}

ProductType type_of(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return product_type(kernel, kernel.op(kernel.outputs().front()), device);
}

TEST(ProductType, PartsOfF32CostThemOnTpus) {
  for (const char* device : {"tpu_v2", "tpu_v3", "tpu_v4", "tpu_v5e", "tpu_v5p", "tpu_v6e"}) {
    const double once_s = best(product("f32", "f32", "f32"), device).time.value;
    const auto ratio = [&](const std::string& how) {
      return best(product("f32", "f32", "f32", how), device).time.value / once_s;
    };
    constexpr double kNear = 0.2;  // relative: transfers beside the first
    EXPECT_NEAR(ratio(", operand_precision={default,default}"), 1, 1e-12) << device;
    EXPECT_NEAR(ratio(", operand_precision={high,high}"), 3, 3 * kNear) << device;
    EXPECT_NEAR(ratio(", operand_precision={default,highest}"), 6, 6 * kNear) << device;
    EXPECT_NEAR(ratio(", algorithm=dot_bf16_bf16_f32"), 1, 1e-12) << device;
    EXPECT_NEAR(ratio(", algorithm=dot_bf16_bf16_f32_x3"), 3, 3 * kNear) << device;
    EXPECT_NEAR(ratio(", algorithm=dot_bf16_bf16_f32_x6"), 6, 6 * kNear) << device;
    EXPECT_NEAR(ratio(", algorithm=dot_f32_f32_f32"), 6, 6 * kNear) << device;
  }
}

TEST(ProductType, GpusMultiplyF32ShortOrOnLanes) {
  const hwdesc::Device h100 = hwdesc::load_device("h100_sxm");
  const double lanes = 2 * h100.vector_peak().value;
  EXPECT_LT(best(product("f32", "f32", "f32"), "h100_sxm").time.value, kFlops / lanes);
  const Estimate full =
      best(product("f32", "f32", "f32", ", operand_precision={highest,highest}"), "h100_sxm");
  EXPECT_GE(full.time.value, kFlops / lanes);
  EXPECT_GE(full.speed_of_light.value, kFlops / lanes * (1 - 1e-9));
  const auto flagged = [](const Estimate& e, const std::string& what) {
    return !e.flags.empty() && e.flags.front().find(what) != std::string::npos;
  };
  EXPECT_TRUE(flagged(best(product("f32", "f32", "f32"), "h100_sxm"), "TF32"));
  EXPECT_TRUE(flagged(full, "lanes"));
  const ProductType parts =
      type_of(product("f32", "f32", "f32", ", algorithm=dot_bf16_bf16_f32_x3"), h100);
  EXPECT_EQ(parts.dtype, ir::DType::kBF16);
  EXPECT_EQ(parts.products, 3);
  EXPECT_EQ(product_peak(parts, h100).value, h100.matrix_peak("bf16").value / 3);
}

TEST(ProductType, ProcessorsMultiplyF32AsItIs) {
  const double once_s = best(product("f32", "f32", "f32"), "cpu_generic").time.value;
  EXPECT_EQ(
      best(product("f32", "f32", "f32", ", operand_precision={highest,highest}"), "cpu_generic")
          .time.value,
      once_s);
}

struct Widened {
  const char *device, *lhs, *rhs;
  ir::DType dtype;
};

TEST(ProductType, WhatAUnitLacksIsWidened) {
  using enum ir::DType;
  const Widened cases[] = {{"a100_sxm_40gb", "f8e4m3fn", "f8e4m3fn", kF16},
                           {"h100_sxm", "f8e4m3fn", "f8e4m3fn", kF8E4M3FN},
                           {"h100_sxm", "f8e4m3fn", "f8e5m2", kF8E4M3FN},
                           {"h100_sxm", "f8e5m2", "f8e5m2", kF16},
                           {"h100_sxm", "f4e2m1fn", "f4e2m1fn", kF8E4M3FN},
                           {"b200", "f4e2m1fn", "f4e2m1fn", kF4E2M1FN},
                           {"t4", "bf16", "bf16", kF32},
                           {"v100_pcie", "bf16", "bf16", kF32},
                           {"h100_sxm", "bf16", "s4", kBF16},
                           {"h100_sxm", "s8", "s4", kS8},
                           {"tpu_v5e", "bf16", "s8", kBF16},
                           {"tpu_v5e", "s4", "s4", kS4},
                           {"cpu_generic", "f8e4m3fn", "f8e4m3fn", kF16},
                           {"h100_sxm", "s32", "s32", kInvalid},
                           {"tpu_v5e", "f64", "f64", kInvalid}};
  for (const Widened& each : cases) {
    const hwdesc::Device device = hwdesc::load_device(each.device);
    const ProductType type = type_of(product(each.lhs, each.rhs, "f32"), device);
    EXPECT_EQ(type.dtype, each.dtype) << each.device << " " << each.lhs << " " << each.rhs;
    EXPECT_EQ(type.products, 1);
    const bool as_written =
        type.on_unit() && (ir::name(type.dtype) == each.lhs || ir::name(type.dtype) == each.rhs);
    EXPECT_EQ(type.note.empty(), as_written) << type.note;
  }
}

TEST(ProductType, ComplexProductsAreFourRealOnes) {
  for (const char* name : {"tpu_v4", "h100_sxm", "mi300x", "cpu_generic"}) {
    const hwdesc::Device device = hwdesc::load_device(name);
    const ProductType real = type_of(product("f32", "f32", "f32"), device);
    const ProductType complex = type_of(product("c64", "c64", "c64"), device);
    EXPECT_EQ(complex.dtype, real.dtype) << name;
    EXPECT_EQ(complex.products, 4 * real.products) << name;
  }
}

// On every preset: products of short operands never use the lanes if there is a matrix unit.
TEST(ProductType, ShortOperandsAlwaysReachTheUnit) {
  for (const std::string& name : hwdesc::preset_names()) {
    const hwdesc::Device device = hwdesc::load_device(name);
    for (const char* t :
         {"bf16", "f16", "f32", "f8e4m3fn", "f8e5m2", "f4e2m1fn", "s8", "u8", "s4"}) {
      EXPECT_TRUE(type_of(product(t, t, "f32"), device).on_unit()) << name << " " << t;
    }
  }
}

TEST(ProductType, BlockScalesDoNotLeaveTheUnit) {
  const std::string text =
      "HloModule m\nENTRY e {\n  a = f8e4m3fn[4096,4096] parameter(0)\n"
      "  b = f8e4m3fn[4096,4096] parameter(1)\n  sa = f8e8m0fnu[4096,128] parameter(2)\n"
      "  sb = f8e8m0fnu[128,4096] parameter(3)\n  ROOT d = bf16[4096,4096] scaled-dot(a, b, sa, "
      "sb), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
  const ir::Kernel scaled = kernel_of(text);
  const hwdesc::Device b200 = hwdesc::load_device("b200");
  const hwdesc::Device h100 = hwdesc::load_device("h100_sxm");
  EXPECT_EQ(type_of(scaled, b200).dtype, ir::DType::kF8E4M3FN);
  EXPECT_EQ(type_of(scaled, h100).dtype, ir::DType::kBF16);
  const double plain_s = best(product("f8e4m3fn", "f8e4m3fn", "bf16"), "b200").time.value;
  const double scaled_s = best(scaled, "b200").time.value;
  EXPECT_GE(scaled_s, plain_s * (1 - 1e-9));
  EXPECT_LT(scaled_s, 1.2 * plain_s);
}

}  // namespace
}  // namespace tilecast::analytical::testing

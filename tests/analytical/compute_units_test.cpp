// Cycles of the compute units, against closed formulas.
#include "analytical/compute_units.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analytical/analytical_model.h"
#include "analytical/product_type.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
namespace {

constexpr double kArray = 128;  // rows and columns of the matrix unit of round_device()
constexpr double kLoad = 128;
constexpr double kFill = 254;  // R + C - 2

struct Parts {
  Parts(ir::Kernel k, hwdesc::Device d)
      : kernel(std::move(k)),
        device(std::move(d)),
        space(make_iteration_space(kernel, device.native_tile)),
        footprints(kernel, space),
        compute(kernel, device, space, footprints) {}
  Parts(const Parts&) = delete;

  LoopSizes whole() const {
    LoopSizes sizes;
    sizes.fill(1);
    for (std::size_t i = 0; i < space.loops.size(); ++i) sizes[i] = space.loops[i].size;
    return sizes;
  }
  double matrix_cycles() const { return compute.matrix_cycles(whole()); }
  UnitCycles epilogue() const {
    std::vector<Extents> extents(footprints.groups().size());
    footprints.evaluate(whole(), extents);
    return compute.epilogue(extents);
  }

  ir::Kernel kernel;
  hwdesc::Device device;
  IterationSpace space;
  Footprints footprints;
  ComputeModel compute;
};

std::string product_text(std::int64_t m, std::int64_t k, std::int64_t n, const std::string& dtype) {
  const std::string result = array(dtype, {m, n});
  return fusion(
      {array(dtype, {m, k}), array(dtype, {k, n})}, result,
      "  ROOT r = " + result + " dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
}

double cycles(std::int64_t m, std::int64_t k, std::int64_t n,
              const hwdesc::Device& device = round_device()) {
  return Parts(kernel_of(product_text(m, k, n, "bf16")), device).matrix_cycles();
}

hwdesc::Device with_units(int count) {
  hwdesc::Device d = round_device();
  d.matrix.count = count;
  return d;
}

TEST(MatrixUnit, PushesEveryRowThroughEveryFullBlock) {
  const double blocks = 256 / kArray * (512 / kArray);
  EXPECT_EQ(cycles(1024, 256, 512), blocks / 2 * 1024 + kLoad + kFill);
}

TEST(MatrixUnit, GainsNothingFromContractionOrColumnsThatUnderfillABlock) {
  for (const std::int64_t small : {1, 17, 127, 128}) {
    EXPECT_EQ(cycles(1024, small, 128), cycles(1024, 128, 128)) << small;
    EXPECT_EQ(cycles(1024, 128, small), cycles(1024, 128, 128)) << small;
  }
  EXPECT_GT(cycles(1024, 129, 256), cycles(1024, 128, 256));
  EXPECT_EQ(cycles(1024, 129, 256), cycles(1024, 256, 256));
}

TEST(MatrixUnit, IsBoundByLoadingWeightsWhenThereAreFewRows) {
  const double blocks = 16;
  EXPECT_EQ(cycles(8, 512, 512), blocks / 2 * kLoad + kLoad + kFill);
  EXPECT_EQ(cycles(1, 512, 512), cycles(8, 512, 512));
}

TEST(MatrixUnit, TakesScaleSimsRuntimeForOneBlock) {
  for (const std::int64_t rows : {128, 256, 1000}) {
    const double published = 2 * kArray + kArray + static_cast<double>(rows) - 2;
    EXPECT_EQ(cycles(rows, 128, 128, with_units(1)), published);
  }
}

TEST(MatrixUnit, HalvesWithTwoUnits) {
  const double ends = kLoad + kFill;
  EXPECT_EQ(cycles(1024, 512, 512, with_units(1)) - ends,
            2 * (cycles(1024, 512, 512, with_units(2)) - ends));
}

TEST(MatrixUnit, NeverGetsSlowerWithMoreUnits) {
  for (const std::int64_t n : {100, 300, 640, 1000}) {
    for (int count = 1; count < 12; ++count) {
      EXPECT_LE(cycles(200, 384, n, with_units(count + 1)), cycles(200, 384, n, with_units(count)))
          << count << " units, " << n << " columns";
    }
  }
}

TEST(MatrixUnit, HoldsStillTheOperandThatWastesLessOfABlock) {
  // As weights the right operand uses 136 of 256 columns; the left one fills its 100 blocks.
  const double blocks = 12800 / kArray;
  EXPECT_EQ(cycles(12800, 128, 136, with_units(1)), blocks * 136 + kLoad + kFill);
  EXPECT_EQ(cycles(136, 128, 12800, with_units(1)), blocks * 136 + kLoad + kFill);
}

TEST(MatrixUnit, LoadsWeightsBeforeThePushesWhereBothTakeOnePort) {
  hwdesc::Device d = round_device();
  d.matrix.weight_load_hidden = false;
  const double blocks = 256 / kArray * (512 / kArray);
  EXPECT_EQ(cycles(1024, 256, 512, d), blocks / 2 * (1024 + kLoad) + kLoad + kFill);
}

TEST(MatrixUnit, ShiftsAWordPerLaneAndCycleBehindThePushesOfTheBlockBefore) {
  hwdesc::Device d = round_device();
  d.matrix.weight_load_hidden = false;
  d.matrix.weight_load = Cycles{32};
  d.matrix.passes["f32"] = 1;
  const double blocks = 16;
  for (const auto& [dtype, shift] : {std::pair{"bf16", kArray / 2}, std::pair{"f32", kArray}}) {
    for (const std::int64_t rows : {8, 48, 400}) {
      const Parts parts(kernel_of(product_text(rows, 512, 512, dtype)), d);
      EXPECT_EQ(parts.matrix_cycles(),
                blocks / 2 * std::max(static_cast<double>(rows) + 32, shift) + 32 + kFill)
          << dtype << " " << rows;
    }
  }
}

double cycles_of_type(const std::string& dtype, std::int64_t k) {
  hwdesc::Device d = with_units(1);
  d.matrix.passes = {{"bf16", 1}, {"s8", 0.5}, {"f16", 1}};
  d.vector.op_cycles = {{"convert-f16", 12}};
  return Parts(kernel_of(product_text(1024, k, 128, dtype)), d).matrix_cycles();
}

TEST(MatrixUnit, FillsARowWithTwoElementsOfHalfAPass) {
  EXPECT_EQ(cycles_of_type("s8", 256), cycles_of_type("bf16", 128));
  EXPECT_EQ(cycles_of_type("s8", 128), cycles_of_type("bf16", 128));
  EXPECT_EQ(cycles_of_type("s8", 257), cycles_of_type("bf16", 256));
}

TEST(MatrixUnit, WaitsForEveryPushOfAnElementTypeItLacks) {
  const double widening = 12 * kArray / (8 * 128 * 2);  // per row
  EXPECT_EQ(cycles_of_type("f16", 256), 2 * 1024 * (1 + widening) + kLoad + kFill);
}

TEST(MatrixUnit, PaysEveryPassOfAnElementType) {
  hwdesc::Device d = round_device();
  d.matrix.passes["f32"] = 3;
  const Parts once(kernel_of(product_text(1024, 256, 512, "bf16")), d);
  const Parts thrice(kernel_of(product_text(1024, 256, 512, "f32")), d);
  EXPECT_EQ(thrice.matrix_cycles() - kLoad - kFill, 3 * (once.matrix_cycles() - kLoad - kFill));
}

TEST(MatrixUnit, LeavesElementTypesItLacksToTheVectorUnit) {
  const Parts parts(kernel_of(product_text(64, 32, 16, "f64")), round_device());
  EXPECT_FALSE(parts.compute.has_matrix_work());
  EXPECT_EQ(parts.matrix_cycles(), 0);
  EXPECT_EQ(parts.compute.vector_matrix_cycles(parts.whole()), 2.0 * 64 * 32 * 16 / (1024 * 2));
}

double grouped_cycles(std::int64_t groups, std::int64_t features) {
  const std::string result = array("bf16", {8, 16, 16, groups * features});
  const std::string text =
      fusion({result, array("bf16", {1, 1, features, groups * features})}, result,
             "  ROOT r = " + result +
                 " convolution(p0, p1), window={size=1x1}, dim_labels=b01f_01io->b01f, "
                 "feature_group_count=" +
                 std::to_string(groups));
  return Parts(kernel_of(text), with_units(1)).matrix_cycles();
}

TEST(MatrixUnit, PutsSeveralSmallFeatureGroupsIntoOneBlock) {
  const double rows = 8 * 16 * 16;
  const auto blocks = [&](std::int64_t groups, std::int64_t features) {
    return (grouped_cycles(groups, features) - kLoad - kFill) / rows;
  };
  EXPECT_EQ(blocks(4, 32), 1);
  EXPECT_EQ(blocks(8, 32), 2);
  EXPECT_EQ(blocks(5, 128), 5);
  EXPECT_EQ(blocks(128, 1), 1);
  EXPECT_EQ(blocks(3, 65), 3);  // more than half a block each: no sharing
}

// The images are in the sublanes.
double convolution_cycles(std::int64_t images, std::int64_t features, const std::string& window,
                          const std::string& out_side) {
  const auto images_of = [&](const std::string& side, std::int64_t depth) {
    return "bf16[" + std::to_string(images) + "," + side + "," + side + "," +
           std::to_string(depth) + "]{3,0,2,1:T(8,128)}";
  };
  const std::string result = images_of(out_side, features);
  return Parts(
             kernel_of(fusion({images_of("16", 128), array("bf16", {1, 1, 128, features})}, result,
                              "  ROOT r = " + result + " convolution(p0, p1), window={" + window +
                                  "}, dim_labels=b01f_01io->b01f")),
             round_device())
      .matrix_cycles();
}

TEST(MatrixUnit, SkipsTheHolesOfADilatedInput) {
  const double real_rows = 8 * 16 * 16;  // of 8 * 32 * 32, every second one in both dimensions
  EXPECT_EQ(convolution_cycles(8, 128, "size=1x1 pad=0_1x0_1 lhs_dilate=2x2", "32"),
            real_rows / 2 + kLoad + kFill);
}

TEST(MatrixUnit, PushesOrHoldsEmptySublanesToo) {
  for (const std::int64_t features : {128, 136}) {  // 136: the images are stationary
    const double full = convolution_cycles(8, features, "size=1x1", "16");
    EXPECT_EQ(convolution_cycles(2, features, "size=1x1", "16"), full) << features;
    EXPECT_LT(full, convolution_cycles(16, features, "size=1x1", "16")) << features;
  }
}

UnitCycles elementwise(const std::vector<std::int64_t>& dims, const std::string& op) {
  const std::string shape = array("f32", dims);
  return Parts(kernel_of(fusion({shape}, shape, "  ROOT r = " + shape + " " + op)), round_device())
      .epilogue();
}

TEST(VectorUnit, DoesOneOperationPerLaneSublaneAndAlu) {
  EXPECT_EQ(elementwise({256, 512}, "negate(p0)").vector, 256.0 * 512 / (8 * 128 * 2));
}

TEST(VectorUnit, WorksOnWholeRegisters) {
  EXPECT_EQ(elementwise({9, 130}, "negate(p0)").vector, 16.0 * 256 / (8 * 128 * 2));
}

TEST(VectorUnit, LoadsAndStoresOneRegisterPerPortAndCycle) {
  EXPECT_EQ(elementwise({256, 512}, "negate(p0)").on_chip, 256.0 * 512 / (8 * 128));
}

TEST(TranscendentalUnit, DoesWhatTheVectorUnitDoesNot) {
  const UnitCycles c = elementwise({256, 512}, "exponential(p0)");
  EXPECT_EQ(c.transcendental, 256.0 * 512 / 1024);
  EXPECT_EQ(c.vector, 0);
}

TEST(CrossLaneUnit, MovesTheElementsOfATransposeOfTheMinorDimension) {
  const std::string from = array("f32", {256, 512});
  const std::string to = array("f32", {512, 256});
  const Parts parts(
      kernel_of(fusion({from}, to, "  ROOT r = " + to + " transpose(p0), dimensions={1,0}")),
      round_device());
  EXPECT_EQ(parts.epilogue().cross_lane, 256.0 * 512 / 1024);
}

UnitCycles f16_cycles(const std::string& op) {
  hwdesc::Device d = round_device();
  d.vector.op_cycles = {{"convert-f16", 12}};
  const std::string shape = array("f16", {256, 512});
  return Parts(kernel_of(fusion({shape}, shape, "  ROOT r = " + shape + " " + op)), d).epilogue();
}

TEST(VectorUnit, ConvertsOperandsAndResultsOfAnElementTypeItLacks) {
  const double registers = 256.0 * 512 / (8 * 128);
  EXPECT_EQ(f16_cycles("negate(p0)").vector, (12 + 1 + 12) * registers / 2);
  EXPECT_EQ(f16_cycles("copy(p0)").vector, 0);  // only moves bits
}

TEST(VectorUnit, DividesByOneNumberWithProducts) {
  const double registers = 256.0 * 512 / (8 * 128);
  const auto divided = [](const std::string& by, const std::string& divisor) {
    hwdesc::Device d = round_device();
    d.vector.op_cycles = {{"divide", 8}};
    const std::string shape = array("f32", {256, 512});
    const std::string body = divisor + "  ROOT r = " + shape + " divide(p0, d)";
    return Parts(kernel_of(fusion({shape, by}, shape, body)), d).epilogue().vector;
  };
  const std::string wide = array("f32", {256, 512});
  EXPECT_EQ(divided("f32[]", "  d = " + wide + " broadcast(p1), dimensions={}\n"), registers / 2);
  EXPECT_EQ(divided(wide, "  d = " + wide + " negate(p1)\n"), (1 + 8) * registers / 2);
}

TEST(Units, LetTheMatrixUnitWaitForItsOperands) {
  const ir::Kernel k = kernel_of(product_text(8, 128, 128, "bf16"));
  const Parts parts(k, round_device());
  EXPECT_EQ(parts.compute.overlapped({.matrix = 10, .vector = 8, .conversion = 6}), 10 + 6);
  EXPECT_EQ(parts.compute.overlapped({.matrix = 1, .vector = 8, .conversion = 6}), 8);
}

TEST(Units, OverlapWithinACoIssueGroupAndAddUpAcrossGroups) {
  hwdesc::Device d = round_device();
  const UnitCycles c{
      .matrix = 10, .vector = 20, .transcendental = 5, .cross_lane = 7, .on_chip = 1};
  const ir::Kernel k = kernel_of(product_text(8, 128, 128, "bf16"));
  EXPECT_EQ(Parts(k, d).compute.overlapped(c), 20);
  d.co_issue = {{"matrix", "vector"}, {"transcendental", "cross_lane"}};
  EXPECT_EQ(Parts(k, d).compute.overlapped(c), 20 + 7);
}

}  // namespace

// The type in which machines multiply, and the number of products they need.

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

// Of 4096 cubed: operands that the unit takes at its rate are not widened, moved or not.
TEST(ProductType, F8ProductsRunAtTheRateOfAUnitThatIsFasterForThem) {
  const auto ratio = [](const std::string& device, const std::string& lhs, const std::string& rhs) {
    return best(product(lhs, rhs, "bf16"), device).time /
           best(product("bf16", "bf16", "bf16"), device).time;
  };
  EXPECT_LT(ratio("tpu_v7x", "f8e4m3fn", "f8e4m3fn"), 0.6);
  EXPECT_LT(ratio("tpu_v7x", "f8e5m2", "f8e4m3fn"), 0.6);
  EXPECT_GT(ratio("tpu_v7x", "bf16", "f8e4m3fn"), 0.95);
  EXPECT_GT(ratio("tpu_v6e", "f8e4m3fn", "f8e4m3fn"), 0.95);
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

// An update in place costs only the update, on every machine and for every form of the kernel.
#include <gtest/gtest.h>

#include "analytical/analytical_model.h"
#include "analytical/distinct_traffic.h"
#include "hwdesc/device_yaml.h"
#include "ir/kernels/in_place_update.h"
#include "test_kernels.h"

namespace tilecast::analytical::testing {
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

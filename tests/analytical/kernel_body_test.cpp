// Times of Pallas kernels by their code, against those of the same work as an HLO operation.
#include "analytical/kernel_body.h"

#include <gtest/gtest.h>

#include <string>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "analytical/scratchpad_model.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "test_kernels.h"
#include "tests/support/folders.h"

namespace tilecast::analytical::testing {
namespace {

ir::Kernel pallas_kernel(const std::string& name, const hwdesc::Device& device) {
  const auto path = support::source_dir() / "tests" / "fixtures" / "pallas" / (name + ".mlir");
  const ir::DeviceProgram loaded =
      ir::program_for(ir::load_module(path.string(), {}), layout_rules(device), {});
  for (const ir::ScheduledKernel& each : loaded.program.kernels()) {
    if (each.kernel.custom_call_cost()) return each.kernel;
  }
  throw Error("no kernel in " + name);
}

Estimate estimate(const std::string& name, const hwdesc::Device& device) {
  return KernelAnalysis(pallas_kernel(name, device), device).estimate_best();
}

double by_code_s(const std::string& name, const hwdesc::Device& device) {
  return estimate(name, device).time.value;
}

// An HLO kernel cut into these extents: result dimensions, then contracted ones.
double by_tile_s(const ir::Kernel& kernel, const LoopSizes& extents, const hwdesc::Device& device) {
  const ScratchpadModel model(kernel, device);
  return model.time_s(tile_of_extents(model.space(), extents));
}

ir::Kernel product() {
  return kernel_of(
      fusion({"bf16[1024,2048]{1,0:T(8,128)(2,1)}", "bf16[2048,1024]{1,0:T(8,128)(2,1)}"},
             "bf16[1024,1024]{1,0:T(8,128)(2,1)}",
             "  ROOT r = bf16[1024,1024]{1,0:T(8,128)(2,1)} dot(p0, p1), "
             "lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
}

TEST(KernelBodyTime, AProductTakesWhatItsTileTakes) {
  for (const char* name : {"tpu_v5e", "tpu_v6e"}) {
    const hwdesc::Device device = hwdesc::load_device(name);
    const double tile_s = by_tile_s(product(), {512, 256, 512}, device);
    EXPECT_NEAR(by_code_s("matmul", device) / tile_s, 1, 0.1) << name;
  }
}

TEST(KernelBodyTime, ACopyTakesWhatMainMemoryTakes) {
  const hwdesc::Device device = hwdesc::load_device("tpu_v5e");
  const MemoryPath memory = memory_path(device.main_memory());
  const double bytes = 8192.0 * 8192 * 2;
  const double least_s = bytes / memory.read + bytes / memory.write;
  const Estimate scale = estimate("scale", device);
  EXPECT_GE(scale.time.value, least_s);
  EXPECT_NEAR(scale.time.value / least_s, 1, 0.1);
  EXPECT_DOUBLE_EQ(scale.hbm_read.value, bytes);
  EXPECT_DOUBLE_EQ(scale.hbm_write.value, bytes);
  EXPECT_EQ(scale.iterations, 16.0 * 8);
}

TEST(KernelBodyTime, CopiesThatRunAheadAreFaster) {
  const hwdesc::Device device = hwdesc::load_device("tpu_v5e");
  EXPECT_LT(by_code_s("copies_ahead", device), by_code_s("copies", device));
}

TEST(KernelBodyTime, AFasterMachineIsNotSlower) {
  for (const char* name : {"matmul", "matmul_gelu", "matmul_by_data", "layer_norm", "pick_rows",
                           "copies", "copies_ahead", "scale", "attention", "attention_causal"}) {
    hwdesc::Device device = hwdesc::load_device("tpu_v5e");
    const double before_s = by_code_s(name, device);
    device.memory.front().bandwidth = device.memory.front().bandwidth * 2;
    EXPECT_LE(by_code_s(name, device), before_s) << name;
    device.clock = device.clock * 2;
    EXPECT_LE(by_code_s(name, device), before_s) << name;
  }
}

}  // namespace
}  // namespace tilecast::analytical::testing

// The target that XLA:GPU compiles for is the description's own numbers.
#include "hwdesc/xla_target.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "hwdesc/device_yaml.h"

namespace tilecast::hwdesc {
namespace {

using testing::HasSubstr;

TEST(XlaTarget, HasTheNumbersOfTheDescription) {
  const Device h100 = load_device("h100_sxm");
  const std::string target = xla_gpu_target(h100);
  const auto expect = [&target](const char* key, double value) {
    EXPECT_THAT(target, HasSubstr(fmt::format("  {}: {}\n", key, value)));
  };
  expect("core_count", h100.multiplexing.workers);
  expect("memory_bandwidth", h100.main_memory().bandwidth.value);
  expect("l2_cache_size", h100.memory[1].capacity.value);
  expect("shared_memory_per_core", h100.scratchpad().capacity.value);
  // 1 KiB of a multiprocessor's shared memory is the system's (CUDA programming guide).
  expect("shared_memory_per_block_optin", h100.scratchpad().capacity.value - 1024);
  expect("registers_per_core_limit", h100.multiplexing.registers_per_worker.value / 4);
  EXPECT_THAT(target, HasSubstr("major: 9 minor: 0 feature_extension: ACCELERATED_FEATURES"));
}

TEST(XlaTarget, AMachineThatDoesNotExistCompilesForItsOwnNumbers) {
  const Device more =
      load_device("h100_sxm", {{"multiplexing.workers", "208"}, {"hbm.bandwidth", "9 TB/s"}});
  const std::string target = xla_gpu_target(more);
  EXPECT_THAT(target, HasSubstr("core_count: 208\n"));
  EXPECT_THAT(target, HasSubstr("memory_bandwidth: 9000000000000\n"));
}

TEST(XlaTarget, EveryNvidiaPresetHasOneAndNobodyElse) {
  for (const std::string& name : preset_names()) {
    const Device device = load_device(name);
    if (device.generation.starts_with("NVIDIA")) {
      EXPECT_THAT(xla_gpu_target(device), HasSubstr("cuda_compute_capability")) << name;
    } else {
      EXPECT_THROW((void)xla_gpu_target(device), Error) << name;
    }
    if (device.execution == Execution::kScratchpad) {
      EXPECT_NE(device.xla_target, "") << name;
    }
  }
}

TEST(XlaTarget, AnUnknownCapabilityIsOneClearError) {
  for (const char* target : {"sm_", "sm_9x", "sm_12", "sm_90aa", "90", "v5e"}) {
    EXPECT_THROW((void)xla_gpu_target(load_device("h100_sxm", {{"xla_target", target}})), Error)
        << target;
  }
}

}  // namespace
}  // namespace tilecast::hwdesc

#include "hwdesc/xla_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace tilecast::hwdesc {
namespace {

struct ComputeCapability {
  int major = 0, minor = 0;
  bool accelerated = false;  // "sm_90a": with the instructions of this architecture alone

  [[nodiscard]] int number() const { return 10 * major + minor; }
};

// "sm_90a", "sm_103": the last digit is the minor number.
std::optional<ComputeCapability> compute_capability(std::string_view target) {
  constexpr std::string_view kPrefix = "sm_";
  if (!target.starts_with(kPrefix)) return std::nullopt;
  target.remove_prefix(kPrefix.size());
  ComputeCapability out;
  if (target.ends_with('a')) {
    out.accelerated = true;
    target.remove_suffix(1);
  }
  int number = 0;
  const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), number);
  if (error != std::errc() || end != target.data() + target.size() || number < 50) {
    return std::nullopt;
  }
  constexpr int kBase = 10;
  out.major = number / kBase;
  out.minor = number % kBase;
  return out;
}

int threads_per_core(const ComputeCapability& cc) {
  switch (cc.number()) {
    case 75:
      return 1024;
    case 86:
    case 87:
    case 89:
    case 120:
    case 121:
      return 1536;
    default:
      return 2048;
  }
}

// What one block may ask for: from compute capability 8.0 on the system keeps 1 KiB a block.
std::int64_t shared_memory_per_block(const ComputeCapability& cc, std::int64_t per_core) {
  constexpr int kAmpere = 8;
  constexpr std::int64_t kReserved = 1024;
  return cc.major < kAmpere ? per_core : per_core - kReserved;
}

std::int64_t whole(double value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::string xla_gpu_target(const Device& device) {
  const std::optional<ComputeCapability> cc = compute_capability(device.xla_target);
  if (device.execution != Execution::kSimt || !cc) {
    throw Error(
        "{}: no target of XLA:GPU: expected a device with `execution: simt` and `xla_target: "
        "sm_NN`, got `xla_target: {}`",
        device.name, device.xla_target.empty() ? "(none)" : device.xla_target);
  }
  constexpr std::int64_t kStaticShared = 49152, kRegisterBytes = 4;
  constexpr double kGiga = 1e9;
  const std::int64_t per_core = whole(device.scratchpad().capacity.value);
  const std::int64_t per_block = shared_memory_per_block(*cc, per_core);
  const std::int64_t registers =
      whole(device.multiplexing.registers_per_worker.value) / kRegisterBytes;
  const std::int64_t cache =
      device.memory.size() > 2 ? whole(device.memory[1].capacity.value) : std::int64_t{0};
  const double lanes = static_cast<double>(device.vector.lanes * device.vector.sublanes);
  std::string out = "gpu_device_info {\n";
  const auto add = [&out](std::string_view key, auto value) {
    out += fmt::format("  {}: {}\n", key, value);
  };
  add("threads_per_block_limit", 1024);
  add("threads_per_warp", device.multiplexing.warp_lanes);
  add("shared_memory_per_block", std::min(kStaticShared, per_block));
  add("shared_memory_per_core", per_core);
  add("threads_per_core_limit", threads_per_core(*cc));
  add("core_count", device.multiplexing.workers);
  add("fpus_per_core", whole(lanes * device.vector.alus));
  add("block_dim_limit_x", 2147483647);
  add("block_dim_limit_y", 65535);
  add("block_dim_limit_z", 65535);
  add("memory_bandwidth", whole(device.main_memory().bandwidth.value));
  add("l2_cache_size", cache);
  add("clock_rate_ghz", device.clock.value / kGiga);
  add("device_memory_size", whole(device.main_memory().capacity.value));
  add("shared_memory_per_block_optin", per_block);
  add("registers_per_core_limit", registers);
  add("registers_per_block_limit", std::min<std::int64_t>(registers, 65536));
  out += fmt::format("  cuda_compute_capability {{ major: {} minor: {}{} }}\n}}\n", cc->major,
                     cc->minor, cc->accelerated ? " feature_extension: ACCELERATED_FEATURES" : "");
  // The version that JAX's plugins for CUDA 13 are built with.
  out += "platform_name: \"CUDA\"\ndnn_version_info { major: 9 minor: 12 }\n";
  return out + fmt::format("device_description_str: \"{}\"\n", device.name);
}

}  // namespace tilecast::hwdesc

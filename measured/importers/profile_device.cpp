#include "measured/importers/profile_device.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace tilecast::measured {
namespace {

// A stat of the plane as a number; 0 if absent. Names: XLA's GPU profilers.
double stat_of(const XplaneDevice& device, const char* name) {
  const auto found = device.facts.find(name);
  return found == device.facts.end() ? 0 : base::parse_number(found->second).value_or(0);
}

}  // namespace

hwdesc::MachineFacts machine_facts(const XplaneDevice& device) {
  return {.name = device.type,
          .matrix_flops = device.peak_flops,
          .bandwidth = device.peak_bytes,
          .capacity_bytes = stat_of(device, "memory_size"),
          .clock_hz = device.clock_hz,
          .workers = stat_of(device, "core_count")};
}

hwdesc::DeviceGuess preset_of(const XplaneDevice& device, const std::string& file) {
  hwdesc::DeviceGuess guess = hwdesc::guess_device(machine_facts(device));
  if (guess.preset.empty()) {
    throw Error(fmt::format("{}: which device is this? {}; expected --device", file, guess.why));
  }
  return guess;
}

std::string device_text(const XplaneDevice& device) {
  const std::string what = !device.type.empty()     ? device.type
                           : !device.vendor.empty() ? device.vendor + " device"
                                                    : "device";
  return fmt::format("{} x {}", device.cores, what);
}

}  // namespace tilecast::measured

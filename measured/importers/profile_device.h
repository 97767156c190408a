// Converts a profile's device information for preset lookup (hwdesc/device_check.h).
#pragma once

#include "hwdesc/device_check.h"
#include "measured/importers/xplane.h"

namespace tilecast::measured {

[[nodiscard]] hwdesc::MachineFacts machine_facts(const XplaneDevice& device);

// The preset that matches the profile's device, with the reason. Throws Error if none is close
// enough; the user must then name one.
[[nodiscard]] hwdesc::DeviceGuess preset_of(const XplaneDevice& device, const std::string& file);

// Text for sets and reports: "4 x TPU v6 Lite", "2 x AMD device".
[[nodiscard]] std::string device_text(const XplaneDevice& device);

}  // namespace tilecast::measured

// What a profile states of its device, in the terms that find a preset (hwdesc/device_guess.h).
#pragma once

#include "hwdesc/device_guess.h"
#include "measured/importers/xplane.h"

namespace tilecast::measured {

[[nodiscard]] hwdesc::MachineFacts machine_facts(const XplaneDevice& device);

// The preset of the profile's device, and why. Throws Error, which asks for one, where none is
// near.
[[nodiscard]] hwdesc::DeviceGuess preset_of(const XplaneDevice& device, const std::string& file);

// Of a set or a report: "4 x TPU v6 Lite", "2 x AMD device".
[[nodiscard]] std::string device_text(const XplaneDevice& device);

}  // namespace tilecast::measured

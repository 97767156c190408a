// What a calibration block means: fitted multipliers folded into the constants they belong to.
#pragma once

#include "hwdesc/device.h"

namespace tilecast::hwdesc {

// Does the block change anything a model of on-device time reads?
[[nodiscard]] bool is_calibrated(const Device& device);

// The device with its multipliers folded into efficiencies, latencies and overheads and reset to 1,
// and the kernel overhead added to dispatch.kernel_launch. Peaks, and with them the speed of light,
// stay as described. The dispatch times by op class are kept: they are the host's.
[[nodiscard]] Device apply_calibration(Device device);

}  // namespace tilecast::hwdesc

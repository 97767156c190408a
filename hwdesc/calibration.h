// Applies a calibration block: folds fitted multipliers into the constants they scale.
#pragma once

#include "hwdesc/device.h"

namespace tilecast::hwdesc {

// Whether the block changes anything that a model of on-device time reads.
[[nodiscard]] bool is_calibrated(const Device& device);

// The device with its multipliers folded into efficiencies, latencies and overheads and reset to 1,
// and the kernel overhead added to dispatch.kernel_launch. Peaks, and with them the speed of light,
// stay as described. Dispatch times per op class stay, as they are host times.
[[nodiscard]] Device apply_calibration(Device device);

}  // namespace tilecast::hwdesc

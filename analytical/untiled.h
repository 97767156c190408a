// Models of kernels without a tiled loop nest: collectives, calls of unknown code, kernels with
// empty results, transfers to and from host memory and computations on the host, and passes over
// whole rows (analytical/row_passes.h).
#pragma once

#include "analytical/accounting.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

[[nodiscard]] bool has_tiles(const ir::Kernel& kernel, const hwdesc::Device& device);
// Whether all results are arrays without elements.
[[nodiscard]] bool has_empty_result(const ir::Kernel& kernel);

// Time of the kernel's traffic on the host link; 0 without traffic.
[[nodiscard]] Seconds host_link_time(const ir::Kernel& kernel, const hwdesc::Device& device);

// For a kernel without tiles. The device's calibration must be applied already.
[[nodiscard]] Accounting account_untiled(const ir::Kernel& kernel, const hwdesc::Device& device,
                                         BoundMask removed);
// Time, bounds, traffic and flags of such a kernel.
[[nodiscard]] Estimate untiled_estimate(const ir::Kernel& kernel, const hwdesc::Device& device);

}  // namespace tilecast::analytical

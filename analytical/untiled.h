// Kernels that no tile of a loop nest describes: collectives, calls of code that is not in the
// program, kernels of no result, transfers to and from the memory of the host and what the host
// computes, and work on whole rows in passes over memory (analytical/row_passes.h).
#pragma once

#include "analytical/accounting.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

[[nodiscard]] bool has_tiles(const ir::Kernel& kernel, const hwdesc::Device& device);
// All results are arrays without elements.
[[nodiscard]] bool has_empty_result(const ir::Kernel& kernel);

// What crosses the link to the host takes so long; 0: nothing does.
[[nodiscard]] Seconds host_link_time(const ir::Kernel& kernel, const hwdesc::Device& device);

// Of a kernel without tiles, on a device that is not calibrated any more.
[[nodiscard]] Accounting account_untiled(const ir::Kernel& kernel, const hwdesc::Device& device,
                                         BoundMask removed);
// Time, bounds, traffic and flags of it.
[[nodiscard]] Estimate untiled_estimate(const ir::Kernel& kernel, const hwdesc::Device& device);

}  // namespace tilecast::analytical

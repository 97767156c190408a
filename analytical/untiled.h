// Models of kernels without a tiled loop nest: collectives, calls of unknown code, kernels with
// empty results, transfers to and from host memory and computations on the host, and passes over
// whole rows.
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

// How a kernel without tiles runs; keeps a reference to the device, whose calibration must be
// applied already. Flags name collectives, passes and what is not counted.
[[nodiscard]] Algorithm untiled(const ir::Kernel& kernel, const hwdesc::Device& device);

// Models a kernel without a known loop nest as whole passes over main memory. Each pass is a
// load-use loop with enough buffers, with a launch of its own or the kernel's.

struct MemoryPasses {
  double count = 1;
  double read_bytes = 0, write_bytes = 0;  // all passes together
  double core_s = 0;                       // computation on `core`, all passes together
  Bound core = Bound::kMatrix;
  double special_s = 0;  // special functions between products that wait for them
  double rate = 1;       // share of a copy's memory rate that the passes reach
  double launches = 1;   // kernel launches
  double latency_s = 0;  // of steps that wait for each other
};

[[nodiscard]] Accounting account_passes(const MemoryPasses& passes, const hwdesc::Device& device,
                                        BoundMask removed);

}  // namespace tilecast::analytical

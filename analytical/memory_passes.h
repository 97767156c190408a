// Models a kernel without a known loop nest as whole passes over main memory. Each pass is a
// load-use loop with enough buffers, with a launch of its own or the kernel's.
#pragma once

#include "analytical/accounting.h"
#include "hwdesc/device.h"

namespace tilecast::analytical {

struct MemoryPasses {
  double count = 1;
  double read_bytes = 0, write_bytes = 0;  // all passes together
  double core_s = 0;                       // computation on `core`, all passes together
  Bound core = Bound::kMatrix;
  double rate = 1;      // share of a copy's memory rate that the passes reach
  double launches = 1;  // kernel launches
};

[[nodiscard]] Accounting account_passes(const MemoryPasses& passes, const hwdesc::Device& device,
                                        BoundMask removed);

}  // namespace tilecast::analytical

// Kernels as whole passes over main memory, for those whose loop nest is not known: each pass is a
// load-use loop that is buffered deeply enough, behind a launch of its own or the one of the
// kernel.
#pragma once

#include "analytical/accounting.h"
#include "hwdesc/device.h"

namespace tilecast::analytical {

struct MemoryPasses {
  double count = 1;
  double read_bytes = 0, write_bytes = 0;  // of all passes together
  double core_s = 0;                       // what `core` computes, all passes together
  Bound core = Bound::kMatrix;
  double rate = 1;      // of memory that the passes reach, against a copy
  double launches = 1;  // of kernels
};

[[nodiscard]] Accounting account_passes(const MemoryPasses& passes, const hwdesc::Device& device,
                                        BoundMask removed);

}  // namespace tilecast::analytical

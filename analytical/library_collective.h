// Collectives of a GPU library (NCCL, RCCL) on the GPUs of one node. Internal to analytical; the
// formulas are in analytical/collective.h, the constants in hwdesc::CollectiveLibrary.
#pragma once

#include "hwdesc/slice.h"
#include "ir/op_kinds.h"

namespace tilecast::analytical {

struct LibraryRing {
  const hwdesc::CollectiveLibrary& library;
  double chips = 1;
  double egress = 0;       // of the links of one chip, sustained, bytes per second
  double copied = 0;       // copies in its memory, bytes per second
  bool in_switch = false;  // the switch can do the sums
};

struct LibraryTime {
  double bandwidth_s = 0, fixed_s = 0;
};

// By the fastest protocol; `bytes`: the larger side, of one chip.
[[nodiscard]] LibraryTime library_time(ir::Exchange pattern, double bytes, const LibraryRing& ring);

}  // namespace tilecast::analytical

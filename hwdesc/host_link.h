// The link from a chip to its host's memory (PCIe, NVLink-C2C), which holds HLO arrays in S(5).
#pragma once

#include "hwdesc/device_parts.h"

namespace tilecast::hwdesc {

struct HostLink {
  BytesPerSecond bandwidth;  // one way, per chip
  Seconds latency;           // per transfer
  Provenance provenance;
};

}  // namespace tilecast::hwdesc

// The way from a chip to the memory of its host (PCIe, NVLink-C2C), which holds HLO's arrays in
// S(5).
#pragma once

#include "hwdesc/device_parts.h"

namespace tilecast::hwdesc {

struct HostLink {
  BytesPerSecond bandwidth;  // one way, of the chip
  Seconds latency;           // of one transfer
  Provenance provenance;
};

}  // namespace tilecast::hwdesc

// Energy and power of a Device (hwdesc/device.h). Names and units of keys:
// hwdesc/device_schema.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "hwdesc/device_parts.h"
#include "hwdesc/units.h"

namespace tilecast::hwdesc {

// Dynamic energy per operation or byte, and power per chip as in data sheets. At the described
// clock.
struct Energy {
  std::map<std::string, Joules> matrix;         // per dtype: one operation; a multiply-add is 2
  Joules vector;                                // one operation on a 32-bit lane
  Joules transcendental;                        // one element
  std::map<std::string, JoulesPerByte> memory;  // per level: one byte read or written there
  JoulesPerByte network;                        // one byte that leaves a chip
  Watts idle_power;                             // drawn while a program runs, whatever it does
  std::optional<Watts> power_limit;  // the clock is lowered if average power would exceed it ...
  Seconds power_window;              // ... in launches of at least this duration
  double clock_exponent = 1;  // power of units and on-chip memory ~ clock^this: 1 at constant
                              // voltage, 3 if the voltage follows the clock
  Provenance provenance;
};

}  // namespace tilecast::hwdesc

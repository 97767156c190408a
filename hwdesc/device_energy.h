// Energy and power of a Device (hwdesc/device.h). Names and units of keys:
// hwdesc/energy_schema.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "hwdesc/device_parts.h"
#include "hwdesc/units.h"

namespace tilecast::hwdesc {

// What work takes beside time. Of one operation or byte what switches; power is of a whole chip, as
// data sheets say it. All of it at the described clock.
struct Energy {
  std::map<std::string, Joules> matrix;         // per dtype: of one operation; a multiply-add is 2
  Joules vector;                                // of one operation on a 32-bit lane
  Joules transcendental;                        // of one element
  std::map<std::string, JoulesPerByte> memory;  // per level: of a byte read or written there
  JoulesPerByte network;                        // of a byte that leaves a chip
  Watts idle_power;                             // drawn as long as a program runs, whatever it does
  std::optional<Watts> power_limit;  // the clock is lowered where the average would pass it ...
  Seconds power_window;              // ... in launches of at least this: shorter ones are averaged
  double clock_exponent = 1;  // power of units and on-chip memory goes with the clock to this: 1 at
                              // one voltage, 3 where the voltage follows the clock
  Provenance provenance;
};

}  // namespace tilecast::hwdesc

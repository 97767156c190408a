// Effect of a board's power limit on one launch.
//
// Units and on-chip memories run at a clock of f x the described one, 0 < f <= 1; main memory and
// links do not. Dynamic power of a clocked circuit is C V^2 f (Horowitz, ISSCC 2014, section 2;
// Hennessy and Patterson, 6th edition, section 1.5): at constant voltage the energy per operation
// stays and only time grows; if voltage follows the clock, energy scales with f^(clock_exponent -
// 1). The clock is the highest f for which
//
//   dynamic energy(f) / time(f) + idle power <= power limit
//
// so work that waits for main memory and draws less power for it is not slowed. If even the lowest
// clock draws too much, the rest of the machine waits too: time = energy / (limit - idle). A limit
// never makes anything faster. Each launch is limited by itself, if it lasts long enough
// (Device::limits_power_of): boards average power over some milliseconds.
#pragma once

#include <functional>

#include "analytical/estimate.h"
#include "hwdesc/device.h"

namespace tilecast::analytical {

inline constexpr double kLowestClock = 0.05;  // share of the described clock

// The device with its core at `factor` x its clock: units, and on-chip rates and latencies.
[[nodiscard]] hwdesc::Device at_clock(hwdesc::Device device, double factor);

// `full`: an estimate with energy at the described clock. `estimate_on`: the same launch on a
// device at another clock; supplies time, bounds and traffic. Returns `full` if the device has no
// limit or the limit allows the full clock.
[[nodiscard]] Estimate hold_to_power_limit(
    Estimate full, const hwdesc::Device& device,
    const std::function<Estimate(const hwdesc::Device&)>& estimate_on);

}  // namespace tilecast::analytical

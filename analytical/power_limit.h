// What a board's power limit does to one launch.
//
// Units and the memories on the chip run at a clock f x their described one, 0 < f <= 1; main
// memory and links do not. Dynamic power of a clocked circuit is C V^2 f (Horowitz, ISSCC 2014,
// section 2; Hennessy and Patterson, 6th edition, section 1.5): at one voltage energy per operation
// stays and only time grows; where voltage follows the clock, energy goes with f^(clock_exponent -
// 1). The clock is the highest at which
//
//   dynamic energy(f) / time(f) + idle power <= power limit
//
// so that work which waits for main memory, and takes less power for it, is not slowed. Where even
// the lowest clock takes too much, what is left of the machine waits: time = energy / (limit -
// idle). A limit never makes anything faster. It holds for each launch by itself: boards average
// over some milliseconds, which short launches can use.
#pragma once

#include <functional>

#include "analytical/estimate.h"
#include "hwdesc/device.h"

namespace tilecast::analytical {

inline constexpr double kLowestClock = 0.05;  // of the described one

// The device with its core at `factor` x its clock: units, and rates and latencies on the chip.
[[nodiscard]] hwdesc::Device at_clock(hwdesc::Device device, double factor);

// `full`: an estimate with energy, at the described clock. `estimate_on`: the same launch on a
// device of another clock; its time, bounds and traffic count. Unchanged without a limit, and where
// the limit allows the full clock.
[[nodiscard]] Estimate hold_to_power_limit(
    Estimate full, const hwdesc::Device& device,
    const std::function<Estimate(const hwdesc::Device&)>& estimate_on);

}  // namespace tilecast::analytical

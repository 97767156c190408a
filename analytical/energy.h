// Dynamic energy of one launch, and what a board's power limit makes of it.
//
//   compute   FLOPs x energy per operation on the unit that runs them; XLA's useful work
//             (ir/counts), without padding; kernels without counts: every element
//             and the clocks' power x time, whatever the units do
//   memory    bytes read and written x energy per byte of main memory
//   on chip   per level inside main memory: bytes from outside and bytes passed inside, both x its
//             energy per byte
//   network   bytes that a chip must send (collective_lower_bound), one hop each, a core's share
//
// Energy per operation: Horowitz, ISSCC 2014, figure 1.1.9; Jouppi et al., ISCA 2021, table 2. Idle
// power x time is not included. Pure functions.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "analytical/estimate.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

struct OperationCounts {
  struct Product {
    ir::DType dtype;  // type the machine multiplies in; kInvalid: on the lanes
    Flops flops;      // a product computed in parts counts each part
  };
  std::vector<Product> products;
  Flops vector;               // all other FLOPs
  double transcendental = 0;  // elements
};
[[nodiscard]] OperationCounts operation_counts(const ir::Kernel& kernel,
                                               const hwdesc::Device& device);

// `estimate`: this kernel on this device; supplies the traffic. nullopt if the device describes no
// energy.
[[nodiscard]] std::optional<LaunchEnergy> launch_energy(const ir::Kernel& kernel,
                                                        const hwdesc::Device& device,
                                                        const Estimate& estimate);

// Average power of one core over the launch: dynamic energy / time + idle power. Requires an
// estimate with energy and a time above zero.
[[nodiscard]] Watts average_power(const Estimate& estimate, const hwdesc::Device& device);

// With a power limit, units and on-chip memories run at the highest share f of the clock for which
//
//   dynamic energy(f) / time(f) + idle power <= power limit
//
// Dynamic power is C V^2 f (Horowitz, section 2): where voltage follows the clock, energy scales
// with f^(clock_exponent - 1). If even the lowest clock draws too much, time = energy / (limit -
// idle). A limit never makes anything faster, and applies to launches that last
// (Device::limits_power_of).
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

// Dynamic energy of one launch: operation and byte counts x the energy of each (hwdesc::Energy).
//
//   compute   FLOPs of products x energy per operation of their operand type on the unit that runs
//             them, all other FLOPs x the vector unit's, transcendentals x theirs. Counts are XLA's
//             useful work (ir/counts), without padding to native tiles; kernels without such counts
//             count every element computed or reduced
//   memory    bytes read and written x energy per byte of main memory
//   on chip   per level inside main memory: bytes from outside and bytes passed inside, both x its
//             energy per byte. Repeated reads of the innermost level by the units are part of their
//             energy per operation
//   network   bytes that a chip must send (collective_lower_bound), one hop each, a core's share
//
// Energy per operation: Horowitz, ISSCC 2014, figure 1.1.9; Jouppi et al., ISCA 2021, table 2. Idle
// power x time, the other part of a program's energy, is not included. Pure functions.
#pragma once

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

}  // namespace tilecast::analytical

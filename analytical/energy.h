// Dynamic energy of one launch: what it does times what each of it takes (hwdesc::Energy).
//
//   compute   FLOPs of products x energy per operation of their operands' type on the unit that
//             does them, all other FLOPs x the vector unit's, transcendentals x theirs; counts as
//             XLA counts useful work (ir/counts), padding to native tiles not included; of
//             kernels without such counts every element computed or summed
//   memory    bytes read and written x energy per byte of main memory
//   on chip   of each level inside it: bytes that come from outside and bytes that go inside, both
//             x its energy per byte. Units are fed by the innermost level; what they read of it
//             again belongs to their energy per operation.
//   network   bytes that a chip must send (collective_lower_bound), one hop each, a core's share
//
// Energy per operation: Horowitz, ISSCC 2014, figure 1.1.9; Jouppi et al., ISCA 2021, table 2. The
// other part of a program's energy, idle power x time, is not in here. Pure functions.
#pragma once

#include <optional>
#include <vector>

#include "analytical/estimate.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

struct OperationCounts {
  struct Product {
    ir::DType dtype;  // in which the machine multiplies; kInvalid: on the lanes
    Flops flops;      // of it: products in parts count each
  };
  std::vector<Product> products;
  Flops vector;               // all other FLOPs
  double transcendental = 0;  // elements
};
[[nodiscard]] OperationCounts operation_counts(const ir::Kernel& kernel,
                                               const hwdesc::Device& device);

// `estimate`: of a launch of this kernel on this device; its traffic is what is counted. nullopt
// where the device describes no energy.
[[nodiscard]] std::optional<LaunchEnergy> launch_energy(const ir::Kernel& kernel,
                                                        const hwdesc::Device& device,
                                                        const Estimate& estimate);

// Average over the launch of one core: dynamic energy over time, and idle power.
// Of an estimate with energy and a time above zero.
[[nodiscard]] Watts average_power(const Estimate& estimate, const hwdesc::Device& device);

}  // namespace tilecast::analytical

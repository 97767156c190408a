// Time of a kernel whose code the program brings along (ir/kernel_body.h), on a core with a
// scratchpad: the pipeline of scratchpad_model.h, with the grid, blocks and index maps that the
// code states, and the units busy with what it does on them (compute_units.h).
//
// While a step computes, the next one's blocks are loaded and those that the last one left are
// stored. The work is spread evenly over the steps. Units of a step overlap as in any kernel.
// Copies that the code starts itself overlap with its steps, unless it waits for them at once.
#pragma once

#include <optional>

#include "analytical/accounting.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

// nullopt for kernels without code that is read, and on machines without a scratchpad. Keeps a
// reference to the device, whose calibration must be applied already.
[[nodiscard]] std::optional<Algorithm> kernel_body(const ir::Kernel& kernel,
                                                   const hwdesc::Device& device);

}  // namespace tilecast::analytical

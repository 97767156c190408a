// Tells which numbers of a device description the analytical model reads for a kernel, so that a
// study that varies one number re-evaluates only the kernels it can affect.
#pragma once

#include <string_view>

#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

// Whether AnalyticalModel's time of the kernel may depend on the number at `path`, as in
// hwdesc/device_yaml.h ("vector.op_cycles.tanh"). False only if no equation reads it: costs of
// ops and passes of element types that the kernel lacks, the interconnect without a collective,
// energies without a power limit, the host's dispatch. Pure.
[[nodiscard]] bool may_read(const ir::Kernel& kernel, const hwdesc::Device& device,
                            std::string_view path);

}  // namespace tilecast::analytical

// Which numbers of a description the analytical model reads for a kernel: studies that vary one
// number after the other ask again only about the kernels that may answer otherwise.
#pragma once

#include <string_view>

#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

// Whether AnalyticalModel's time of the kernel may depend on the number at this path, as
// hwdesc/device_numbers.h writes it ("vector.op_cycles.tanh"). False only where no equation reads
// it: costs of ops and passes of element types that the kernel does not have, the interconnect
// without a collective, energies without a power limit, the host's dispatch. Pure.
[[nodiscard]] bool may_read(const ir::Kernel& kernel, const hwdesc::Device& device,
                            std::string_view path);

}  // namespace tilecast::analytical

// What XLA must know of a machine to compile for it where there is none.
//
// A description names its target: `xla_target: sm_90a` (NVIDIA, a compute capability) or
// `xla_target: v5e` (a TPU generation, as topologies are named: "v5e:2x2"); "" if XLA has none.
#pragma once

#include <string>

#include "hwdesc/device.h"

namespace tilecast::hwdesc {

// XLA's GpuTargetConfig as protobuf text, with the description's own numbers: a machine that does
// not exist compiles for its own multiprocessors, bandwidth and shared memory. Limits that belong
// to the compute capability come from the table of the CUDA programming guide ("Technical
// Specifications per Compute Capability"). Throws Error unless the device is an NVIDIA GPU.
[[nodiscard]] std::string xla_gpu_target(const Device& device);

}  // namespace tilecast::hwdesc

// Small kernels and a machine of round numbers for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical::testing {

// The only kernel of an HLO text; arrays without device layout get T(8,128) ones.
[[nodiscard]] ir::Kernel kernel_of(const std::string& hlo);

// The text of one fusion with parameters p0, p1 ... of these shapes; `body` holds the instructions
// of its computation besides the parameters, the last one marked ROOT, of shape `result`.
[[nodiscard]] std::string fusion(const std::vector<std::string>& parameters,
                                 const std::string& result, const std::string& body);

// "bf16[4,8]{1,0:T(8,128)}": row-major in device layout, so that no order is chosen by size.
[[nodiscard]] std::string array(const std::string& dtype, const std::vector<std::int64_t>& dims);

// 1 GHz; HBM 100 GB/s without latency, granule or set-up; 16 MiB VMEM; no iteration overhead;
// two 128 x 128 matrix units for bf16, vector unit of 8 x 128 x 2, wide transcendental and
// cross-lane units; two stages; every unit issues together.
[[nodiscard]] hwdesc::Device round_device();

}  // namespace tilecast::analytical::testing

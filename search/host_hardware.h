// This machine as hardware for a search: programs are written as C, compiled, checked and timed
// (host/program_bench.h). Reports the minimum time.
//
//   std::unique_ptr<Hardware> here = host_hardware(device, {.jobs = 2});
#pragma once

#include <memory>

#include "hwdesc/device.h"
#include "search/hardware.h"

namespace tilecast::search {

struct HostHardwareOptions {
  int core = -1;        // core to measure on; -1: the last one the process may run on
  Seconds timeout{60};  // per visit
  int jobs = 1;         // compilers at once
};

// Tiles that a job does not give are chosen for `device`, which must outlive the result. Throws
// Error if there is no C compiler.
[[nodiscard]] std::unique_ptr<Hardware> host_hardware(const hwdesc::Device& device,
                                                      const HostHardwareOptions& options = {});

}  // namespace tilecast::search

// This machine as hardware of a search: programs as generated C, compiled, checked, timed
// (host/program_bench.h). The fastest run counts.
//
//   std::unique_ptr<Hardware> here = host_hardware(device, {.jobs = 2});
#pragma once

#include <memory>

#include "hwdesc/device.h"
#include "search/hardware.h"

namespace tilecast::search {

struct HostHardwareOptions {
  int core = -1;        // to measure on; -1: the last one the process may run on
  Seconds timeout{60};  // of one visit
  int jobs = 1;         // compilers at once
};

// The device chooses tiles where a job does not; it outlives the result. Throws Error where there
// is no C compiler.
[[nodiscard]] std::unique_ptr<Hardware> host_hardware(const hwdesc::Device& device,
                                                      const HostHardwareOptions& options = {});

}  // namespace tilecast::search

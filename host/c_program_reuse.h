// Estimates how much of a kernel's data is still in a cache from earlier kernels of the program.
// Used to measure additivity (additivity.h). Pure, thread-safe.
#pragma once

#include <vector>

#include "host/c_program.h"
#include "host/run_kernels.h"

namespace tilecast::host {

// For every call of the program, the share (0 ... 1) of the bytes it reads and writes that earlier
// calls did not touch within the last `capacity` bytes. Models a fully associative LRU cache of 4
// KiB pages; bytes between two uses of a page count at each use. The program runs repeatedly: warm
// with the same inputs and results, cold with different ones each time. The heap is always the
// same.
[[nodiscard]] std::vector<double> missing_shares(const CProgram& program, Bytes capacity,
                                                 CacheState state);

}  // namespace tilecast::host

// What a kernel of a program finds in the caches: how much of its arrays was used so recently that
// a cache still holds it. A part of measuring additivity; thread-safe.
#pragma once

#include <vector>

#include "host/c_program.h"
#include "host/run_kernels.h"

namespace tilecast::host {

// For every call of the program, the share (0 ... 1) of the bytes it reads and writes that were not
// among the last `capacity` bytes that calls before it read or wrote (a fully associative cache
// that drops the least recently used page of 4 KiB; bytes between two uses of a page count every
// time they are used). The program runs over and over: warm, with the same inputs and results;
// cold, with others every time. The heap is the same every time.
[[nodiscard]] std::vector<double> missing_shares(const CProgram& program, Bytes capacity,
                                                 CacheState state);

}  // namespace tilecast::host

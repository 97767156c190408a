// The least main-memory traffic of a kernel: every distinct byte it needs once, every byte it
// writes once, without layout padding or repeated loads.
//
// The graph is walked backwards from the outputs: slices, dynamic slices and gathers need only what
// they return (XLA's rule for reads of fusions, HloCostAnalysis), in-place updates only the update,
// strided windows only what they touch. Uses that read the same data share it; slices of one array
// add up, to at most the whole. Values resident in on-chip memory cost nothing.
#pragma once

#include <vector>

#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

struct Traffic {
  Bytes read, write;
};

[[nodiscard]] Traffic distinct_traffic(const ir::Kernel& kernel, const hwdesc::Device& device);

inline constexpr int kHostMemory = 5;  // HLO space S(5)
// The same over the link to the host: arrays in S(5), and all arrays of computations on the host.
// Zero on a processor, which is the host.
[[nodiscard]] Traffic host_traffic(const ir::Kernel& kernel, const hwdesc::Device& device);

// Per op, the share of its elements that the outputs need, [0, 1].
[[nodiscard]] std::vector<double> needed_shares(const ir::Kernel& kernel);

inline constexpr int kSyncFlags = 2;  // HLO space S(2) of cores with a scratchpad

// Whether the array costs no main-memory traffic: a level below main memory holds its space S(n)
// (MemoryLevel::memory_space), or it is in host memory. Other spaces are in main memory, except
// sync flags S(2) and scalars S(6) of cores with a scratchpad.
[[nodiscard]] bool is_resident(const ir::Shape& shape, const hwdesc::Device& device);

}  // namespace tilecast::analytical

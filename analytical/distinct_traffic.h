// The least main-memory traffic of a kernel: every distinct byte it needs once, every byte it
// produces once, without layout padding, as if nothing were ever loaded twice.
//
// What is needed is found by walking the graph backwards from the outputs: slices, dynamic slices
// and gathers need only what they return (XLA's rule for reads of fusions, HloCostAnalysis), in-place
// updates only the update, strided windows only what they touch. Uses that read the same data
// share it; slices add up, to at most the whole. Values resident in on-chip memory cost nothing.
#pragma once

#include <vector>

#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

struct Traffic {
  Bytes read, write;
};

[[nodiscard]] Traffic distinct_traffic(const ir::Kernel& kernel, const hwdesc::Device& device);

// Share of every op's elements that the outputs need, [0, 1], by op.
[[nodiscard]] std::vector<double> needed_shares(const ir::Kernel& kernel);

// Whether arrays of this memory space live on the chip, not in main memory: S(1) on a TPU, where
// only 0 (HBM) and 5 (host) are off chip; nothing on machines that manage no scratchpad by hand.
[[nodiscard]] bool is_resident(const ir::Shape& shape, const hwdesc::Device& device);

}  // namespace tilecast::analytical

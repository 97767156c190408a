// Prints the loops of an explained tile: the structure of the code that the tile describes.
#pragma once

#include "sim/explain.h"

namespace tilecast::sim {

enum class LoopForm : std::uint8_t {
  kTiled,      // copies at their place, with the requested stages
  kPipelined,  // copies issued ahead, with the matching waits (schedule/pipeline.h)
  kC,          // for this machine: prefetches instead of asynchronous copies
  kCuda        // for NVIDIA GPUs: the pipelined loops of a block of threads (host/cuda_loops.h)
};

// Sets Explanation::loops, and notes the parts of the schedule that did not fit. `tile`: the
// requested tile, else the estimate's; if it has no stages, the device's are used (none for C).
// Throws Error if the kernel or tile has no loops (schedule/tile_schedule.h).
void add_loops(const ir::Kernel& kernel, const hwdesc::Device& device,
               const analytical::TileConfig* tile, LoopForm form, Explanation& why);

}  // namespace tilecast::sim

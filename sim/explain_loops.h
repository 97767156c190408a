// The loops of an explained tile: how the code it stands for is written.
#pragma once

#include "sim/explain.h"

namespace tilecast::sim {

enum class LoopForm : std::uint8_t {
  kTiled,      // copies where they belong, stages asked for
  kPipelined,  // copies issued ahead, with what waits for them (schedule/pipeline.h)
  kC,          // for this machine: prefetches in place of asynchronous copies
  kCuda        // for NVIDIA GPUs: the pipelined loops of a block of threads (host/cuda_loops.h)
};

// Sets Explanation::loops, and notes what of the schedule did not fit. `tile`: the one that was
// asked for, else the estimate's; where it states no stages, the device's (C: none). Throws Error
// where the kernel or tile has no loops (schedule/tile_schedule.h).
void add_loops(const ir::Kernel& kernel, const hwdesc::Device& device,
               const analytical::TileConfig* tile, LoopForm form, Explanation& why);

}  // namespace tilecast::sim

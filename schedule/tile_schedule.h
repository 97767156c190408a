// The schedule that a tile stands for.
//
//   TiledLoops made = tiled_loops(kernel, parse_tile("out=64x64 kernel=32 stages=3"));
//
// The loops of the kernel's anchor (analytical/iteration_space.h) are cut as the tile says; sums
// are kept in a buffer of the block, operands are read through shared memory, filled in the
// innermost loop over tiles and pipelined with the tile's stages; the rest of a product is one
// Multiply. Ops around the anchor keep plain loops of their own, elementwise ones before it are
// inlined.
//
// For blocks of threads (a GPU's) tiles of the output run in parallel; a product goes through
// registers slice by slice (16 deep on matrix units, else 1), two slices at a time, fused with the
// copies of the tiles around (ALCOP's Fig. 3d); rows in shared memory lie 16 bytes apart; what is
// made of the sums elementwise is made where they are stored; elementwise kernels copy nothing.
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "analytical/tile.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"
#include "schedule/detect.h"
#include "schedule/loop_program.h"
#include "schedule/thread_layout.h"

namespace tilecast::schedule {

struct TileTarget {                           // the machine that runs the loops
  hwdesc::NativeTile native{.tiled = false};  // in whose units the tile counts
  AsyncCopies copies;
  int warps = 0;  // of a block of threads where the tile states none; 0: no such blocks
};
[[nodiscard]] TileTarget target_of(const hwdesc::Device& device);

struct TiledLoops {
  LoopProgram program;
  std::vector<std::string>
      refusals;            // steps that did not fit, and why; what they would do is left out
  ThreadBlock block = {};  // of a target with such blocks
};
// Throws Error where the kernel has no loops (from_kernel.h), its anchor is no dot, reduce or
// elementwise op, or the tile is not one of the kernel's.
[[nodiscard]] TiledLoops tiled_loops(const ir::Kernel& kernel, const analytical::TileConfig& tile,
                                     const TileTarget& target = {});

// The loops that models of schedules read: those of the tile, as tiled_loops, steps that did not
// fit left out; of a null tile, or one that cuts nothing, the plain ones.
[[nodiscard]] LoopProgram loops_of(const ir::Kernel& kernel, const analytical::TileConfig* tile,
                                   const TileTarget& target = {});

}  // namespace tilecast::schedule

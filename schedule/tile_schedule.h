// The schedule that a tile stands for.
//
//   TiledLoops made = tiled_loops(kernel, parse_tile("out=64x64 kernel=32 stages=3"));
//
// The loops of the kernel's anchor (analytical/iteration_space.h) are cut as the tile says; sums
// are kept in a buffer of the block, operands are read through shared memory, filled in the
// innermost loop over tiles and pipelined with the tile's stages; the rest of a product is one
// Multiply. Ops around the anchor keep plain loops of their own, elementwise ones before it are
// inlined. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "analytical/tile.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"
#include "schedule/detect.h"
#include "schedule/loop_program.h"

namespace tilecast::schedule {

struct TiledLoops {
  LoopProgram program;
  std::vector<std::string>
      refusals;  // steps that did not fit, and why; what they would do is left out
};
// Throws Error where the kernel has no loops (from_kernel.h), its anchor is no dot, reduce or
// elementwise op, or the tile is not one of the kernel's. `native`: in whose units the tile counts.
[[nodiscard]] TiledLoops tiled_loops(const ir::Kernel& kernel, const analytical::TileConfig& tile,
                                     const hwdesc::NativeTile& native = {.tiled = false},
                                     const AsyncCopies& machine = {});

// The loops that models of schedules read: those of the tile, as tiled_loops, steps that did not
// fit left out; of a null tile, or one that cuts nothing, the plain ones.
[[nodiscard]] LoopProgram loops_of(const ir::Kernel& kernel, const analytical::TileConfig* tile,
                                   const hwdesc::NativeTile& native);

}  // namespace tilecast::schedule

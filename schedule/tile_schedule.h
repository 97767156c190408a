// The schedule that a tile describes.
//
//   TiledLoops made = tiled_loops(kernel, parse_tile("out=64x64 kernel=32 stages=3"));
//
// The loops of the kernel's anchor (analytical/iteration_space.h) are cut as the tile says. Sums
// are kept in a buffer of the block; operands are read through shared memory, filled in the
// innermost loop over tiles and pipelined with the tile's stages; the rest of a product is one
// Multiply. Other ops keep plain loops of their own, except that elementwise ones before the anchor
// are inlined.
//
// With GPU thread blocks, tiles of the output run in parallel. A product passes through registers
// slice by slice (16 deep on matrix units, else 1), two slices at a time, fused with the copies of
// the surrounding tiles (ALCOP's Fig. 3d). Rows in shared memory are padded by 16 bytes.
// Elementwise work on the sums is done where they are stored. Elementwise kernels copy nothing.
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
  hwdesc::NativeTile native{.tiled = false};  // units of the tile's sizes
  AsyncCopies copies;
  int warps = 0;  // per thread block if the tile states none; 0: no thread blocks
};
[[nodiscard]] TileTarget target_of(const hwdesc::Device& device);

struct TiledLoops {
  LoopProgram program;
  std::vector<std::string> refusals;  // why steps did not fit; they are left out
  ThreadBlock block = {};             // of a target with thread blocks
};
// Throws Error if the kernel has no loops (from_kernel.h), its anchor is not a dot, reduce,
// elementwise op or (without thread blocks) convolution, or the tile does not match the kernel.
[[nodiscard]] TiledLoops tiled_loops(const ir::Kernel& kernel, const analytical::TileConfig& tile,
                                     const TileTarget& target = {});

// The loops that schedule-based models read: those of tiled_loops(), or the plain ones if the tile
// is null or empty.
[[nodiscard]] LoopProgram loops_of(const ir::Kernel& kernel, const analytical::TileConfig* tile,
                                   const TileTarget& target = {});

}  // namespace tilecast::schedule

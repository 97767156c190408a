// A tile: how a kernel's iteration space is cut so that a piece fits the scratchpad.
//
// Bounds are as in XLA:TPU dumps and TpuGraphs: physical, most major dimension first; the two most
// minor entries count native tiles (8 sublanes, 128 lanes on TPU), the others count elements.
// `output` cuts the output (of reductions: the reduced input), `kernel` cuts the weights of a
// convolution or dot (cutting them splits the reduction). An empty list means "not cut".
//
// Where blocks of threads were written by a code generator, `stages` and `warps` say how: buffers
// of each operand (Triton's num_stages less one, at least one; CUTLASS's stages) and warps of a
// block. `threads` are those of a block that stand side by side along each dimension of the output,
// the most minor next to each other, each with an equal share of the results; such blocks multiply
// on plain lanes. `vector`: elements that a load of a thread brings along each dimension. `direct`:
// threads read their operands through the cache, no copy is made in the worker's own memory.
//
// Of convolutions written as loops (schedule/convolution.h): `order`, the loops over tiles of the
// output, outermost first, dimensions counted from 1 (empty: as they stand); `unroll` above 1: that
// many taps of the window's last dimension are written out, inside of all other loops of a sum.
#pragma once

#include <string>
#include <string_view>

#include "ir/shape.h"

namespace tilecast::analytical {

struct TileConfig {
  ir::Dims output;
  ir::Dims kernel;
  ir::Dims input;
  int stages = 0, warps = 0;  // 0: as the device's
  ir::Dims threads, vector;   // empty: not told; else one entry per entry of `output`
  bool direct = false;
  ir::Dims order;  // empty: not told; else a permutation of 1 ... entries of `output`
  int unroll = 0;  // 0: not told
  // Does it say how its block was written?
  [[nodiscard]] bool is_written() const { return stages > 0 || warps > 0 || !threads.empty(); }
  friend bool operator==(const TileConfig&, const TileConfig&) = default;
};

[[nodiscard]] std::string to_string(
    const TileConfig& tile);  // "out=2x26x4x2 kernel=3x3x24x1 warps=4"

// Of that text; any part of it, "out 2x26" is accepted too. Throws Error.
[[nodiscard]] TileConfig parse_tile(std::string_view text);

// What is wrong with the shape of a tile for a kernel whose full tile is `full`; "" when it fits.
[[nodiscard]] std::string tile_mismatch(const TileConfig& tile, const TileConfig& full);

}  // namespace tilecast::analytical

// A tile: how a kernel's iteration space is cut so that a piece fits the scratchpad.
//
// Bounds are as in XLA:TPU dumps and TpuGraphs: memory order, most major dimension first; the two
// most minor entries count native tiles (8 sublanes, 128 lanes on TPU), the others elements.
// `output` cuts the output (for reductions: the reduced input), `kernel` the weights of a
// convolution or dot (cutting them splits the reduction). An empty list means "not cut".
//
// For thread blocks of a code generator, `stages` and `warps` say how a block is written: buffers
// per operand (Triton's num_stages less one, at least one; CUTLASS's stages) and warps per block.
// `threads`: threads of a block along each output dimension, adjacent along the most minor one,
// each with an equal share of the results; such blocks multiply on plain lanes. `vector`: elements
// per thread load along each dimension. `direct`: threads read operands through the cache instead
// of copying them to the worker's own memory.
//
// For convolutions written as loops (schedule/convolution.h): `order`, the loops over output tiles,
// outermost first, dimensions counted from 1 (empty: in their own order); `unroll` above 1: that
// many taps of the window's last dimension are unrolled inside all other loops of a sum.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "ir/shape.h"

namespace tilecast::analytical {

struct TileConfig {
  ir::Dims output;
  ir::Dims kernel;
  ir::Dims input;
  int stages = 0, warps = 0;  // 0: the device's default
  ir::Dims threads, vector;   // empty: not stated; else one entry per entry of `output`
  bool direct = false;
  ir::Dims order;  // empty: not stated; else a permutation of 1 ... entries of `output`
  int unroll = 0;  // 0: not stated
  // Whether the tile says how its block is written.
  [[nodiscard]] bool is_written() const { return stages > 0 || warps > 0 || !threads.empty(); }
  friend bool operator==(const TileConfig&, const TileConfig&) = default;
  friend std::strong_ordering operator<=>(const TileConfig&, const TileConfig&) = default;
};

[[nodiscard]] std::string to_string(
    const TileConfig& tile);  // "out=2x26x4x2 kernel=3x3x24x1 warps=4"

// Parses that text; any part of it, or "out 2x26". Throws Error.
[[nodiscard]] TileConfig parse_tile(std::string_view text);

// Why a tile does not match a kernel whose full tile is `full`; "" if it does.
[[nodiscard]] std::string tile_mismatch(const TileConfig& tile, const TileConfig& full);

// The parts of a tile, each described once: what texts, tables, JSON, Python and HTTP call it, and
// how it is read and set as a list of numbers.
//
//   for (const TilePart& part : tile_parts()) print(part.name, part.numbers(tile));
struct TilePart {
  std::string_view name;    // "output": of JSON, HTTP and Python
  std::string_view word;    // "out": of to_string() and parse_tile()
  std::string_view column;  // "output_bounds": of tables
  std::string_view meaning;
  std::variant<ir::Dims TileConfig::*, int TileConfig::*, bool TileConfig::*> of;

  static constexpr std::int64_t kMost = 1024;  // of a part that is one number
  // A number for each dimension, else one number, or whether it is so (1).
  [[nodiscard]] bool is_list() const { return of.index() == 0; }
  [[nodiscard]] bool is_bounds() const { return column.ends_with("_bounds"); }
  [[nodiscard]] bool is_flag() const { return of.index() == 2; }
  // None where the tile does not say.
  [[nodiscard]] ir::Dims numbers(const TileConfig& tile) const;
  // `numbers`: at most one up to kMost, unless it is a list.
  void set(TileConfig& tile, const ir::Dims& numbers) const;
};
// In the order in which everything shows them.
[[nodiscard]] std::span<const TilePart> tile_parts();

}  // namespace tilecast::analytical

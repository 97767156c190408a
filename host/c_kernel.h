// A kernel and a tile as portable C: what this machine can run in place of the accelerator.
//
// The loop nest is analytical/iteration_space.h's: tile by tile, operands are packed into a local
// scratchpad (the next tile's before this one is computed, as a double-buffered core orders it),
// computed there in loops a compiler vectorises, and stored. A reduction that the tile cuts keeps
// an accumulator over its pieces. Edge tiles load and store what exists.
//
//   auto made = generate_c(kernel, tile, "k17");
//   if (const auto* c = std::get_if<CKernel>(&made)) write(c_prelude() + c->source);
//
// Arrays lie dense in the physical order of their layout (no native tiles), one element after the
// other: pred one byte, bf16 and f16 two. bf16 and f16 are computed in f32 and rounded where HLO
// says so: at every op's result, except inside products and sums, which accumulate in f32 (s32 for
// integers). Thread-safe; same kernel and tile, same text.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analytical/tile.h"
#include "ir/kernel.h"

namespace tilecast::host {

struct CKernel {
  std::string function;            // void f(const void* const* in, void* const* out, void* scratch)
  std::string source;              // C11, needs c_prelude() once before it
  std::vector<ir::Shape> inputs;   // kernel.parameters()
  std::vector<ir::Shape> outputs;  // kernel.outputs()
  std::int64_t scratch_bytes = 0;  // given by the caller, aligned to 64 bytes
};

// What the generator cannot do: "sort is not generated", "the tile cuts rows a later pass needs".
struct Unsupported {
  std::string reason;
};

// A tile that states its stages is written as its loops (schedule/tile_schedule.h, c_loops.h). An
// empty tile list means "not cut". `function` is a C identifier.
[[nodiscard]] std::variant<CKernel, Unsupported> generate_c(const ir::Kernel& kernel,
                                                            const analytical::TileConfig& tile,
                                                            const std::string& function);
// C as generate_c() writes it, the loops that it marks as parallel to be unrolled by `factor`
// (#pragma GCC unroll); 1: as it is.
[[nodiscard]] std::string unrolled(std::string source, int factor);

// Includes, types and conversions that all generated functions share.
[[nodiscard]] std::string_view c_prelude();

// Bytes of an array as generated code sees it.
[[nodiscard]] std::int64_t host_bytes(const ir::Shape& shape);

}  // namespace tilecast::host

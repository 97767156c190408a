// Writes a kernel with a tile as portable C, which the host runs in place of the accelerator.
//
// The loop nest is that of analytical/iteration_space.h. For each tile, operands are packed into a
// local scratchpad, computed in vectorisable loops, and stored. If the tile splits a reduction, its
// accumulator is kept across the pieces. Edge tiles load and store only elements inside the array.
//
//   auto result = generate_c(kernel, tile, "k17");
//   if (const auto* c = std::get_if<CKernel>(&result)) write(c_prelude() + c->source);
//
// Arrays are dense in the physical order of their layout, without native tiles: one byte per
// element for pred, two for bf16 and f16. bf16 and f16 are computed in f32 and rounded as HLO
// requires: at every op's result, except inside products and sums, which accumulate in f32 (s32 for
// integers). Thread-safe and deterministic: the same kernel and tile give the same text.
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
  std::int64_t scratch_bytes = 0;  // provided by the caller, aligned to 64 bytes
};

// Why no code was generated: "sort is not generated", "the tile cuts rows a later pass needs".
struct Unsupported {
  std::string reason;
};

// A tile with stages is lowered through its loop program (schedule/tile_schedule.h, c_loops.h). An
// empty tile list leaves the kernel uncut. `function` is a C identifier.
[[nodiscard]] std::variant<CKernel, Unsupported> generate_c(const ir::Kernel& kernel,
                                                            const analytical::TileConfig& tile,
                                                            const std::string& function);
// Adds `#pragma GCC unroll factor` to the loops that generate_c() marks as parallel; factor 1
// leaves the source unchanged.
[[nodiscard]] std::string unrolled(std::string source, int factor);

// Includes, types and conversions shared by all generated functions.
[[nodiscard]] std::string_view c_prelude();

// Size in bytes of an array in generated code.
[[nodiscard]] std::int64_t host_bytes(const ir::Shape& shape);

}  // namespace tilecast::host

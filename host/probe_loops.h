// The C loops that `hw probe` times, as one source for Compiler (compiled_library.h).
//
//   compiler.compile({probe_source(c_prelude())}, 1);
//   find_loop("peak_f32").work  // 960 vector multiply-adds per call
//
// Each is `void NAME(char* memory, long bytes, long calls)`, which does its work `calls` times on
// memory initialised according to `fill`. Vectors are the widest of the compiler for this machine;
// the library exports their width as `const int vector_bytes`. Loops of ops run over arrays in L1,
// as generated kernels do, and use the generated kernels' functions if there are any. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilecast::host {

enum class Fill {
  kOnes,    // every float is 1
  kRandom,  // floats from 0.5 to 4
  kChain,   // each line points to the next line of a random cycle
  kIndex,   // kOpElements random numbers below kOpElements, then floats from 0.5 to 4
};

struct Loop {
  std::string_view function;
  double work = 1;  // units of work per call; the unit is listed below
  Fill fill = Fill::kOnes;
};

inline constexpr std::int64_t kOpElements = 1024;           // 32-bit elements per call of an op
inline constexpr std::int64_t kOpBytes = 20 * kOpElements;  // all its arrays together
inline constexpr std::int64_t kRunBytes = 256;              // run length of mem_runs
inline constexpr std::int64_t kProductSide = 64, kProductDepth = 128;
inline constexpr std::int64_t kProductBytes = 4 * kProductSide * (2 * kProductDepth + kProductSide);

// Units of work. peak_<dtype>: vector multiply-adds of the accumulator's type; s8 operands are
// widened to s32, bf16 and f16 to f32, once per round of 12 or 20 accumulators, since generated
// kernels widen a tile once and use it for many rows. add_f32: vector additions. product:
// multiply-adds of an f32 product of kProductSide x kProductDepth by kProductDepth x kProductSide.
// clock_adds: dependent integer additions. mem_read, mem_write, mem_copy: passes over `bytes` (a
// copy reads one half and writes the other). mem_runs: passes that pack distant runs of kRunBytes.
// mem_chase: dependent loads. one_run: runs of one element, packed by the same loops. empty_calls:
// calls. op_<name>: 32-bit elements.
[[nodiscard]] std::span<const Loop> probe_loops();
[[nodiscard]] const Loop& find_loop(std::string_view function);
[[nodiscard]] std::string probe_source(std::string_view prelude);

}  // namespace tilecast::host

// The C loops that `hw probe` times, as one source for compiled_library.h's Compiler.
//
//   compiler.compile({probe_source(c_prelude())}, 1);
//   find_loop("peak_f32").work  // 960 multiply-adds of a vector in each call
//
// Each is `void NAME(char* memory, long bytes, long calls)`: it does its work `calls` times on
// memory prepared as `fill` says. Vectors are those the compiler has for this machine; the library
// tells their width in `const int vector_bytes`. Loops of ops go over arrays that L1 holds, as
// generated kernels do, and use the functions of generated kernels where these have any. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilecast::host {

enum class Fill {
  kOnes,    // every float is 1
  kRandom,  // floats from 0.5 to 4
  kChain,   // each line points to the next of a random cycle through all lines
  kIndex,   // kOpElements random numbers below kOpElements, then floats from 0.5 to 4
};

struct Loop {
  std::string_view function;
  double work = 1;  // per call; of what, the list says
  Fill fill = Fill::kOnes;
};

inline constexpr std::int64_t kOpElements = 1024;           // of 32 bits, in one call of an op
inline constexpr std::int64_t kOpBytes = 20 * kOpElements;  // of its arrays together
inline constexpr std::int64_t kRunBytes = 256;              // of mem_runs
inline constexpr std::int64_t kProductSide = 64, kProductDepth = 128;
inline constexpr std::int64_t kProductBytes = 4 * kProductSide * (2 * kProductDepth + kProductSide);

// peak_<dtype>: multiply-adds of a vector of the accumulator's type; operands of s8 are widened to
// s32, of bf16 and f16 to f32, one for each round of 12 or 20 accumulators, since generated kernels
// widen a tile once and use it for many rows. add_f32: additions of a vector. product:
// multiply-adds of a product of kProductSide x kProductDepth by kProductDepth x kProductSide, f32.
// clock_adds: dependent integer additions. mem_read, mem_write, mem_copy: passes over `bytes` (a
// copy reads one half and writes the other). mem_runs: passes that pack runs of kRunBytes, far
// apart, one by one. mem_chase: dependent loads. one_run: runs of one element, packed by such
// loops. empty_calls: calls. op_<name>: elements of 32 bits.
[[nodiscard]] std::span<const Loop> probe_loops();
[[nodiscard]] const Loop& find_loop(std::string_view function);
[[nodiscard]] std::string probe_source(std::string_view prelude);

}  // namespace tilecast::host

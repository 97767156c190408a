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
#include <vector>

#include "hwdesc/units.h"

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

// Times one loop of the probe on one core or on several simultaneously.
//
//   LoopTimes t = run_loop(library, {.loop = find_loop("mem_read"), .bytes = 1 << 20, .pus = {3}});
//   t.best();  // seconds per call; of the slowest core if there are several
//
// Starts a pinned child process per core, each with its own memory, in huge pages if available. The
// children first determine together how many calls take `repeat`. Then every repeat starts at a
// barrier, until `budget` is used up; it lasts from the first start to the last end. Many short
// repeats make it likely that some run undisturbed. Throws Error if a child crashes or times out.
// Not thread-safe (forks).

struct LoopRun {
  Loop loop;
  std::int64_t bytes = kOpBytes;  // per core
  std::int64_t line = 64;         // bytes between adjacent elements of a chain
  std::vector<int> pus;           // one child on each
  Seconds repeat{2e-3};           // target duration of a repeat; at least one call
  Seconds budget{50e-3};          // total duration of all repeats
  int least_repeats = 3, most_repeats = 200;
  int timeout_s = 60;
};

struct LoopTimes {
  std::vector<double> call_s;  // one entry per repeat
  int vector_bytes = 16;       // exported by the library

  [[nodiscard]] double best() const;
  [[nodiscard]] double spread() const;  // (median - best) / best
};

[[nodiscard]] LoopTimes run_loop(const std::string& library, const LoopRun& run);

}  // namespace tilecast::host

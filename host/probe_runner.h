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
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/probe_loops.h"
#include "hwdesc/units.h"

namespace tilecast::host {

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

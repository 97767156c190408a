// Times one loop of the probe on one core or on several at once.
//
//   LoopTimes t = run_loop(library, {.loop = find_loop("mem_read"), .bytes = 1 << 20, .pus = {3}});
//   t.best();  // seconds of one call, the slowest core's when there are several
//
// A child process per core, pinned, with memory of its own in huge pages where the system has them.
// The children find together how many calls take `repeat`, then start every repeat at a barrier,
// until `budget` is used up; a repeat lasts from the first start to the last end. Many short
// repeats find moments in which nobody else runs. Throws Error when a child ends otherwise (crash,
// time-out). Not thread-safe (forks).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/probe_loops.h"
#include "hwdesc/units.h"

namespace tilecast::host {

struct LoopRun {
  Loop loop;
  std::int64_t bytes = kOpBytes;  // of each core
  std::int64_t line = 64;         // bytes between neighbours of a chain
  std::vector<int> pus;           // a child on each
  Seconds repeat{2e-3};           // at least one call
  Seconds budget{50e-3};          // of all repeats
  int least_repeats = 3, most_repeats = 200;
  int timeout_s = 60;
};

struct LoopTimes {
  std::vector<double> call_s;  // by repeat
  int vector_bytes = 16;       // the library's

  [[nodiscard]] double best() const;
  [[nodiscard]] double spread() const;  // (median - best) / best
};

[[nodiscard]] LoopTimes run_loop(const std::string& library, const LoopRun& run);

}  // namespace tilecast::host

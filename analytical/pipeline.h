// The time bound of all machines that move data in parallel with the core: the steady-state period
// of a load-use pipeline. Scratchpads, thread blocks, opaque kernels and collectives use it, and so
// do their explanations (accounting.h); a core with caches moves its data itself, so its times add
// up (cache_model.h).
//
//     period = max( max_r busy_r, round_trip / (N * M), in_order / M )
//
// busy_r: time per iteration for which resource r is occupied; round_trip: from the start of a
// tile's load to the end of its use, latency included; in_order: a worker's own steps; N: stages
// (buffers); M: workers that hide each other's latency. docs/model.md derives it (Rau, MICRO 1994,
// section 2) and shows the published special cases, which tests/analytical/accounting_test.cpp
// holds. Linear: n equal iterations may be combined into one. Seconds, >= 0; stages and workers
// >= 1.
#pragma once

#include <algorithm>

namespace tilecast::analytical {

struct PipelineLoop {
  double path_s = 0;        // busy time of the most occupied data path
  double core_s = 0;        // busy time of the core: compute units and its other work
  double round_trip_s = 0;  // start of load to end of use of one tile
  double in_order_s = 0;    // what a worker does for one tile before the next
  double stages = 2;        // N
  double workers = 1;       // M
};

[[nodiscard]] constexpr double resource_bound_s(const PipelineLoop& loop) {
  return std::max(loop.path_s, loop.core_s);
}

[[nodiscard]] constexpr double recurrence_bound_s(const PipelineLoop& loop) {
  return std::max(loop.round_trip_s / (loop.stages * loop.workers), loop.in_order_s / loop.workers);
}

// Seconds between completed iterations (of any of the M workers). Not inline, so that a test can
// link another bound in its place and see every model move: tests/analytical/other_bound_test.cpp.
[[nodiscard]] double steady_period_s(const PipelineLoop& loop);

}  // namespace tilecast::analytical

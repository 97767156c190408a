// The time bound of all machines that move data in parallel with the core: the steady-state period
// of a load-use pipeline. Scratchpads, thread blocks, opaque kernels and collectives use it, and so
// do their explanations (accounting.h). Only a core with caches (cache_model.h) does not: it moves
// its data itself, step by step, so its times add up.
//
// A loop runs n times: load a tile, use it, store the result. Let `busy_r` be the time per
// iteration for which resource r is occupied, `round_trip` the time from the start of a tile's load
// to the end of its use (latency included), N the pipeline stages (buffers) and M the workers that
// hide each other's latency. Then one iteration of any worker completes every
//
//     period = max( max_r busy_r, round_trip / (N * M), in_order / M )
//
// Derivation: resource r completes at most one iteration per busy_r (resource bound). A buffer is
// free again only after its tile was used, so at most N * M iterations start per round_trip; a
// worker's own steps, `in_order`, follow each other, so M complete in that time (recurrence
// bounds). This is the initiation-interval bound of software pipelining (Rau, MICRO 1994, section
// 2). The bound is linear: n equal iterations may be combined into one. Special cases, tested in
// tests/analytical/pipeline_test.cpp:
//   - Kaufman et al., MLSys 2021, Appendix A: max(transfer, compute) is the resource bound, N = 2;
//   - ALCOP (Huang et al., MLSys 2023), Table I: with T_load the load time, latency included, the
//     load-bound branch (T_load + T_use) / N_pipe is the recurrence bound, and its threshold
//     T_load <= (N_pipe * N_mplx - 1) * T_use is where the bounds meet. ALCOP's times are those of
//     one resident block: the unit is occupied for T_use, so M blocks take M * T_use per round.
// Pure functions; all times in seconds, >= 0; stages and workers >= 1.
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

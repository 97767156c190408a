// The bound every kernel time rests on: the steady-state period of a load-use pipeline.
//
// A loop runs n times: load a tile, use it, store the result. With `busy_r` the time per iteration
// for which resource r is occupied, `round_trip` the time from the start of a tile's load to the
// end of its use (latency included), N pipeline stages (buffers) and M workers that hide each
// other's latency, one iteration of any worker completes every
//
//     period = max( max_r busy_r, round_trip / (N * M) )
//
// Derivation: resource r completes at most one iteration per busy_r (resource bound). A buffer is
// free again only when its tile was used, so N * M iterations start per round_trip at most
// (recurrence bound). It is the initiation-interval bound of software pipelining (Rau, MICRO 1994,
// section 2). Special cases, pinned by tests/analytical/pipeline_test.cpp:
//   - Kaufman et al., MLSys 2021, Appendix A: max(transfer, compute) is the resource bound, N = 2;
//   - ALCOP (Huang et al., MLSys 2023), Table I: with T_load its load time, latency included, the
//     load-bound branch (T_load + T_use) / N_pipe is the recurrence bound, and its threshold
//     T_load <= (N_pipe * N_mplx - 1) * T_use is where the bounds meet. ALCOP's times are those of
//     one resident block: the unit is occupied for T_use, so M blocks take M * T_use per round.
// Pure functions; all times in seconds, >= 0; stages and workers >= 1.
#pragma once

#include <algorithm>

#include "hwdesc/units.h"

namespace tilecast::analytical {

struct PipelineLoop {
  double busy_s = 0;        // the most occupied resource, per iteration
  double round_trip_s = 0;  // load start to use end of one tile
  double stages = 2;        // N
  double workers = 1;       // M
};

[[nodiscard]] constexpr double recurrence_bound_s(const PipelineLoop& loop) {
  return loop.round_trip_s / (loop.stages * loop.workers);
}

// Seconds between completed iterations (of any of the M workers).
[[nodiscard]] constexpr double steady_period_s(const PipelineLoop& loop) {
  return std::max(loop.busy_s, recurrence_bound_s(loop));
}

// ALCOP Table I: time of `iterations` iterations of each of `workers` resident blocks, where the
// use of one block's tile takes `use_s` of a unit they share and a load `load_s` of latency.
[[nodiscard]] constexpr double load_use_loop_s(double load_s, double use_s, double iterations,
                                               double stages, double workers) {
  const double period = steady_period_s(
      {.busy_s = use_s, .round_trip_s = load_s + use_s, .stages = stages, .workers = workers});
  return period * iterations * workers;
}

}  // namespace tilecast::analytical

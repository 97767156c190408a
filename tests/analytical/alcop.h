// ALCOP (Huang et al., MLSys 2023), Table I, by the one bound.
#pragma once

#include "analytical/pipeline.h"

namespace tilecast::analytical::testing {

// Seconds of `iterations` iterations of each of `workers` resident blocks, where the use of one
// block's tile takes `use_s` of a unit they share and a load `load_s` of latency.
inline double load_use_loop_s(double load_s, double use_s, double iterations, double stages,
                              double workers) {
  return iterations * workers *
         steady_period_s({.core_s = use_s,
                          .round_trip_s = load_s + use_s,
                          .stages = stages,
                          .workers = workers});
}

}  // namespace tilecast::analytical::testing

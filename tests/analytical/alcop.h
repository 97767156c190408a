// ALCOP (Huang et al., MLSys 2023), Table I, computed with the bound of analytical/pipeline.h.
#pragma once

#include "analytical/pipeline.h"

namespace tilecast::analytical::testing {

// Seconds for `workers` resident blocks with `iterations` iterations each. Using one tile occupies
// a shared unit for `use_s`; a load has a latency of `load_s`.
inline double load_use_loop_s(double load_s, double use_s, double iterations, double stages,
                              double workers) {
  return iterations * workers *
         steady_period_s({.core_s = use_s,
                          .round_trip_s = load_s + use_s,
                          .stages = stages,
                          .workers = workers});
}

}  // namespace tilecast::analytical::testing

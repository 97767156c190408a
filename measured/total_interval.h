// The interval of a sum of kernels from the intervals of its parts, whose errors are correlated:
// kernels of one program are measured by one system and mispredicted for like reasons.
//
// In logarithms, each side apart: deviation d_i = |log(bound_i / time_i)| / z, z = 1.645 (the
// normal 95 % quantile), shares a_i = time_i / total:
//   d^2 = (1 - rho) sum (a_i d_i)^2 + rho (sum a_i d_i)^2,  bound = total exp(-+ z d)
// (variance of a sum with equal correlations rho). rho = 1: bounds add up in the logarithm;
// rho = 0: independent. Parts without an interval count as certain.
#pragma once

#include <optional>
#include <span>

#include "analytical/estimate.h"
#include "measured/metrics.h"

namespace tilecast::measured {

struct IntervalPart {
  double time = 0, low = 0, high = 0;  // seconds of one launch; 0 < low <= time <= high
  double launches = 1;                 // of one kernel: their errors are the same
};
// nullopt without parts. rho in [0, 1].
[[nodiscard]] std::optional<Interval> total_interval(std::span<const IntervalPart> parts,
                                                     double rho);

// Of estimates with their launches; rho: the largest of their corrections'. A bound on the wrong
// side of its time counts as the time (an interval may leave out a biased time). nullopt when none
// has a correction, or a time is not finite.
struct LaunchedEstimate {
  const analytical::Estimate* estimate = nullptr;
  double launches = 1;
};
[[nodiscard]] std::optional<Interval> total_interval(std::span<const LaunchedEstimate> kernels);

}  // namespace tilecast::measured

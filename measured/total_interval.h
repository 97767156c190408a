// The interval of a sum of kernel times from the intervals of its parts. The errors are correlated,
// because the kernels of a program run on one system and are mispredicted for similar reasons.
//
// In logarithms, for each side separately: deviation d_i = |log(bound_i / time_i)| / z, z = 1.645
// (the normal 95 % quantile), shares a_i = time_i / total:
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
  double time = 0, low = 0, high = 0;  // seconds per launch; 0 < low <= time <= high
  double launches = 1;                 // of the same kernel, so their errors are equal
};
// nullopt without parts. rho in [0, 1].
[[nodiscard]] std::optional<Interval> total_interval(std::span<const IntervalPart> parts,
                                                     double rho);

// The same for estimates with their launches; rho is the largest among their corrections. A bound
// on the wrong side of the time is replaced by the time (an interval may exclude a biased time).
// nullopt if no estimate has a correction or a time is not finite.
struct LaunchedEstimate {
  const analytical::Estimate* estimate = nullptr;
  double launches = 1;
};
[[nodiscard]] std::optional<Interval> total_interval(std::span<const LaunchedEstimate> kernels);

}  // namespace tilecast::measured
